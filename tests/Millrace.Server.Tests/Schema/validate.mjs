// node validate.mjs SCHEMA LINES: whether SCHEMA is a schema of draft 2020-12 (status 1 where it is none), and for each line of
// LINES, a JSON text each, whether it is valid by it: "valid", or the first thing that is wrong.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020.js';

const [schema, lines] = process.argv.slice(2).map(path => readFileSync(path, 'utf8'));
// Strict: a keyword that is misspelt, or that nothing heeds, is an error and not ignored.
const ajv = new Ajv({ strict: true, strictTypes: true, allowUnionTypes: true });
const validate = ajv.compile(JSON.parse(schema));
for (const line of lines.split('\n').filter(line => line.length > 0)) {
  console.log(validate(JSON.parse(line)) ? 'valid' : ajv.errorsText(validate.errors));
}
