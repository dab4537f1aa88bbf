// Builds the operator's page into `dist`, which the server embeds. `npm run dev` serves it live before a running Jari.
import { defineConfig } from "vite";

const JARI = "http://127.0.0.1:8080";

export default defineConfig({
  base: "/admin/",
  build: {
    target: "es2022",
    // The page's policy loads nothing from a `data:` address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What Preact and uPlot ask of those who pass them on.
    license: { fileName: "licenses.txt" },
  },
  server: { proxy: { "/v1": JARI } },
});
