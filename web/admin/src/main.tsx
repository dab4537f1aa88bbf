// Starts the operator's page.
import { render } from "preact";
import { App } from "./app";
import { start } from "./feed";
import { language } from "./text";

const place = document.getElementById("app");
if (!place) throw new Error("index.html has a place for the page");
document.documentElement.lang = language.value;
start();
render(<App />, place);
