// The samples: code in colours, and those of an operation follow the form of Try it, as what it would send in each language.
"use strict";
const samples = (() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const quoted = (text) => JSON.stringify(text);
  const shell = (text) => `"${text.replace(/[\\"$`]/g, "\\$&")}"`;
  const whole = new WeakMap(); // what is copied of a sample: with the key, which the page does not show

  // JSON on one line, with a space after each colon and comma; what is no JSON as it is.
  function line(text) {
    try {
      return JSON.stringify(JSON.parse(text), null, 1).replace(/,\n\s*/g, ", ").replace(/\n\s*/g, "");
    } catch { return text.replace(/\s*\n\s*/g, " "); }
  }

  // How each language writes a body, a header field, a key, and the value that it makes for an Idempotency-Key.
  const languages = {
    sh: {
      body: (json) => `'${json.replaceAll("'", "'\\''")}'`,
      field: (name, value) => ` \\\n  -H ${shell(`${name}: ${value}`)}`,
      after: /-H "Authorization: [^\n]*?"(?= \\|$)/,
      key: ["$PETSTORE_KEY", (key) => key],
      once: [/"Idempotency-Key: \$\(uuidgen\)"/, (value) => shell(`Idempotency-Key: ${value}`)],
    },
    javascript: {
      body: (json) => json.replace(/"([A-Za-z]+)": /g, "$1: "),
      field: (name, value) => `    ${quoted(name)}: ${quoted(value)},\n`,
      after: /    Authorization: [^\n]*\n/,
      key: ["${process.env.PETSTORE_KEY}", (key) => key],
      once: ["crypto.randomUUID()", quoted],
    },
    python: {
      body: (json) => json.replace(/: (true|false|null)\b/g, (_, word) => `: ${{ true: "True", false: "False", null: "None" }[word]}`),
      field: (name, value) => `        ${quoted(name)}: ${quoted(value)},\n`,
      after: /        "Authorization": [^\n]*\n/,
      key: [`f"Bearer {os.environ['PETSTORE_KEY']}"`, (key) => quoted(`Bearer ${key}`)],
      once: ["str(uuid.uuid4())", quoted],
    },
    go: {
      body: (json) => json.replaceAll("`", "\\u0060"),
      field: (name, value) => `req.Header.Set(${quoted(name)}, ${quoted(value)})\n`,
      after: /req\.Header\.Set\("Authorization", [^\n]*\n/,
      key: [`"Bearer "+os.Getenv("PETSTORE_KEY")`, (key) => quoted(`Bearer ${key}`)],
      once: ["rand.Text()) // crypto/rand", (value) => `${quoted(value)})`],
    },
  };

  // What each language colours, by the classes of the spans: c of a comment, s of a string, p of a name, k of a word, n of a number.
  const double = `"(?:[^"\\\\]|\\\\.)*"`, single = `'(?:[^'\\\\]|\\\\.)*'`, raw = "`[^`]*`", number = `\\b\\d+(?:\\.\\d+)?\\b`;
  const word = (list) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;
  const grammars = {
    json: { p: `${double}(?=\\s*:)`, s: double, k: word("true false null"), n: `-?${number}` },
    http: { p: "^[A-Za-z-]+(?=:)", s: double, k: "^HTTP/[\\d.]+ .*$" },
    sh: {
      c: "(?:^|\\s)#.*$", s: `${double}|${single}`, n: number,
      k: word("curl if then elif else fi for do done while case esac in function local return exit export until break"),
    },
    javascript: {
      c: "//.*", s: `${double}|${single}|${raw}`, n: number,
      k: word("const let await async function if else for of in while return throw new try catch import from export continue break true false null undefined"),
    },
    python: {
      c: "#.*", s: `[fr]?${double}|[fr]?${single}`, n: number,
      k: word("import from as def return if elif else for in while try except raise with not and or is None True False lambda continue break"),
    },
    go: {
      c: "//.*", s: `${double}|${raw}|${single}`, n: number,
      k: word("package import func return if else for range var const type struct defer switch case default nil true false break continue go map chan select"),
    },
  };

  // paint returns code with its tokens in spans, without building markup from text.
  function paint(code, language) {
    const parts = document.createDocumentFragment();
    const pattern = Object.entries(grammars[language]).map(([kind, token]) => `(?<${kind}>${token})`).join("|");
    let at = 0;
    for (const m of code.matchAll(new RegExp(pattern, "gm"))) {
      const span = document.createElement("span");
      span.className = Object.keys(m.groups).find((kind) => m.groups[kind] !== undefined);
      span.textContent = m[0];
      parts.append(code.slice(at, m.index), span);
      at = m.index + m[0].length;
    }
    parts.append(code.slice(at));
    return parts;
  }

  // follow returns what brings the samples of a form's operation up to date with what it sends: a target, header fields
  // and a body. request says that.
  function follow(form, request) {
    const panels = all(".tabs pre", form.closest(".op")).map((pre) => {
      const code = pre.querySelector("code");
      return { pre, code, text: code.textContent, as: languages[pre.dataset.lang] };
    });
    const first = /"(https?:[^"]+)"/.exec(panels[0].text)[1];
    const body = form.querySelector("textarea")?.defaultValue;
    const target = () => request(form)[0];
    const sent = () => quoted([target(), fields(), request(form)[1].body ?? ""]);
    const fields = () => Object.entries(request(form)[1].headers).filter(([name]) => name !== "Authorization" && name !== "Content-Type");
    const before = sent();

    function written({ text, as }) {
      if (sent() === before) return text;
      text = text.replace(first, () => (new URL(first).origin + target()).replaceAll("!", "%21"));
      if (body) text = text.replace(as.body(line(body)), () => as.body(line(request(form)[1].body)));
      for (const [name, value] of fields()) {
        if (name === "Idempotency-Key") text = text.replace(as.once[0], () => as.once[1](value)).replace("import uuid\n", "");
        else text = text.replace(as.after, (found) => found + as.field(name, value));
      }
      return text;
    }

    return () => {
      const key = (request(form)[1].headers.Authorization ?? "").replace("Bearer ", "");
      const usable = /^[A-Za-z0-9_-]{12,}$/.test(key);
      for (const panel of panels) {
        const [place, put] = panel.as.key;
        const text = written(panel);
        const shown = usable ? text.replace(place, () => put(`${key.slice(0, 8)}…`)) : text;
        if (panel.code.textContent !== shown) panel.code.replaceChildren(paint(shown, panel.pre.dataset.lang));
        whole.set(panel.pre, usable ? text.replace(place, () => put(key)) : text);
      }
    };
  }

  return { follow, paint, copied: (pre) => whole.get(pre) ?? pre.innerText };
})();
