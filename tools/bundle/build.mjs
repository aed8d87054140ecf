// Builds ascend_workbook/page/bundle.js and bundle.css from src and vendor: the same sources give the same bytes.
// npm ci --ignore-scripts && node build.mjs

import {build} from "esbuild";
import {createHash} from "node:crypto";
import {readFileSync, readdirSync, writeFileSync} from "node:fs";

const here = new URL("./", import.meta.url), out = new URL("../../ascend_workbook/page/", here);
const files = ["src", "vendor"].flatMap(folder => readdirSync(new URL(folder + "/", here)).sort().map(name => `${folder}/${name}`));
const sum = createHash("sha256");
for (const name of files) sum.update(name + "\0").update(readFileSync(new URL(name, here)));
const head = `/* Built by tools/bundle/build.mjs of sources ${sum.digest("hex").slice(0, 16)}; holds uPlot, Tabulator and dagre (MIT): see NOTICE */\n`;

const made = await build({entryPoints: ["src/app.js"], absWorkingDir: new URL(here).pathname, bundle: true, minify: true, format: "iife", target: "es2020", charset: "utf8",
  legalComments: "none", write: false, logLevel: "warning"});
const script = made.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
writeFileSync(new URL("bundle.js", out), head + script);
const style = await build({stdin: {contents: files.filter(name => name.endsWith(".css")).map(name => readFileSync(new URL(name, here), "utf8")).join("\n"), loader: "css"},
  minify: true, target: "chrome100", charset: "utf8", write: false});
writeFileSync(new URL("bundle.css", out), head + style.outputFiles[0].text);
