// Holds bills of materials against the schema that each names: node validate.mjs BILL...
// With ajv, all formats among them, and nothing that the schema does not know let pass.
import { readFileSync } from 'node:fs'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { PackageURL } from 'packageurl-js'

let faults = 0
function fault(...what) {
  console.error(...what)
  faults++
}

for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, 'utf8')
  const bill = JSON.parse(text)
  if (!Object.values(Spec.Version).includes(bill.specVersion)) {
    fault(`${file}: CycloneDX has no version ${bill.specVersion}`)
    continue
  }
  const found = await new Validation.JsonStrictValidator(bill.specVersion).validate(text)
  if (found !== null) fault(`${file}: ${JSON.stringify(found, null, 1)}`)
  const refs = new Set([bill.metadata.component, ...bill.components].map((c) => c['bom-ref']))
  if (refs.size !== bill.components.length + 1) fault(`${file}: two components have one bom-ref`)
  for (const { ref, dependsOn } of bill.dependencies) {
    for (const one of [ref, ...dependsOn]) if (!refs.has(one)) fault(`${file}: nothing has the bom-ref ${one}`)
  }
  for (const { purl } of bill.components) {
    if (PackageURL.fromString(purl).toString() !== purl) fault(`${file}: ${purl} is no package URL in its canonical form`)
  }
}
process.exitCode = faults === 0 ? 0 : 1
