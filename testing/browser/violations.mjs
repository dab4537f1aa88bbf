// What axe finds wrong with a page. Knows no page by name.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const ALL = ["minor", "moderate", "serious", "critical"];
export const GRAVE = ["serious", "critical"];

// Violations of these weights, by rule and place.
export async function violations(page, weights = ALL) {
  await page.evaluate(AXE);
  return page.evaluate(async (weights) => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    const found = violations.filter(({ impact }) => weights.includes(impact));
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
  }, weights);
}
