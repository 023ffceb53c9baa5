import { html } from '../pages/html.ts'

/** The mail that asks whoever owns an address whether the signup was theirs. */
export const confirmMail = ({ formName, url }: { formName: string; url: string }) => ({
  subject: `Please confirm: ${formName}`,
  content: {
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Please confirm: ${formName}</title></head>
<body style="margin:0;padding:24px;background:#f6f7f9;color:#1b1f24;font:16px/1.5 system-ui,sans-serif">
<div style="max-width:480px;margin:0 auto;padding:24px;background:#ffffff;border-radius:12px">
<h1 style="margin:0 0 12px;font-size:22px;line-height:1.25">One more step</h1>
<p style="margin:0 0 16px">Somebody, most likely you, has signed up with this address for <strong>${formName}</strong>. Please confirm that it was you.</p>
<p style="margin:0 0 16px"><a href="${url}" style="display:inline-block;padding:10px 18px;border-radius:8px;background:#1f4fbf;color:#ffffff;font-weight:600;text-decoration:none">Confirm</a></p>
<p style="margin:0;color:#57606a">It was not you? Then do nothing: nobody is signed up without this step.</p>
</div>
</body>
</html>
`.text,
    text: `Somebody, most likely you, has signed up with this address for ${formName}.
Please confirm that it was you:

${url}

It was not you? Then do nothing: nobody is signed up without this step.
`,
  },
})
