// Compiled from plain-mail.mjml.ts by `npm run mails`: do not edit.

/** The pieces of built-in emails, with slots. */
export const frame = {
  begin: `<!doctype html>
<html lang="{{lang}}" dir="auto" xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<title>{{title}}</title>
<!--[if !mso]><!-->
<meta http-equiv="X-UA-Compatible" content="IE=edge">
<!--<![endif]-->
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style type="text/css">
#outlook a { padding:0; }
body { margin:0;padding:0;-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%; }
table, td { border-collapse:collapse;mso-table-lspace:0pt;mso-table-rspace:0pt; }
img { border:0;height:auto;line-height:100%; outline:none;text-decoration:none;-ms-interpolation-mode:bicubic; }
p { display:block;margin:13px 0; }
</style>
<!--[if mso]>
<noscript>
<xml>
<o:OfficeDocumentSettings>
<o:AllowPNG/>
<o:PixelsPerInch>96</o:PixelsPerInch>
</o:OfficeDocumentSettings>
</xml>
</noscript>
<![endif]-->
<!--[if lte mso 11]>
<style type="text/css">
.mj-outlook-group-fix { width:100% !important; }
</style>
<![endif]-->
<style type="text/css">
@media only screen and (min-width:480px) {
.mj-column-per-100 { width:100% !important; max-width: 100%; }
}
</style>
<style media="screen and (min-width:480px)">
.moz-text-html .mj-column-per-100 { width:100% !important; max-width: 100%; }
</style>
<style type="text/css">
@media (prefers-color-scheme: dark) {
body, .page, .ground, .ground > table { background: #101418 !important }
.card, .card > table { background: #1a2027 !important }
.card > table > tbody > tr > td { border-color: #39424d !important }
.ink > div { color: #e6e9ed !important }
.imprint > div, .imprint a { color: #a5adb8 !important }
.panel { background: #101418 !important; border-left-color: {{darkAct}} !important }
.link { color: {{darkLink}} !important }
.button > table > tbody > tr > td, .button a { background: {{darkAct}} !important; color: {{darkOnAct}} !important }
}
</style>
<meta name="color-scheme" content="light dark">
</head>
<body  class="page" style="word-spacing:normal;background-color:#f6f7f9;">
<div style="display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;">{{preheader}}&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;</div>
<div
aria-label="{{title}}" aria-roledescription="email" role="article" lang="{{lang}}" dir="auto" style="word-spacing:normal;background-color:#f6f7f9;"
>
<!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" class="ground-outlook" role="presentation" style="width:600px;" width="600" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div  class="ground" style="margin:0px auto;max-width:600px;">
<table
align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"
>
<tbody>
<tr>
<td
style="direction:ltr;font-size:0px;padding:24px 16px;text-align:center;"
>
<!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td class="card-outlook" width="600px" ><table align="center" border="0" cellpadding="0" cellspacing="0" class="card-outlook" role="presentation" style="width:568px;" width="568" bgcolor="#ffffff" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div  class="card" style="background:#ffffff;background-color:#ffffff;margin:0px auto;max-width:568px;border-radius:12px;overflow:hidden;">
<table
align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="background:#ffffff;background-color:#ffffff;width:100%;border-collapse:separate;"
>
<tbody>
<tr>
<td
style="border:1px solid #d0d7de;border-radius:12px;direction:ltr;font-size:0px;padding:32px 28px 20px;text-align:center;"
>
<!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td class="" style="vertical-align:top;width:510px;" ><![endif]-->
<div
class="mj-column-per-100 mj-outlook-group-fix" style="font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="vertical-align:top;" width="100%"
>
<tbody>
`,
  logo: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:0 0 24px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;line-height:1.5;text-align:left;color:#1b1f24;"
><img src="{{src}}" alt="{{alt}}" width="{{width}}" height="{{height}}" style="display:block;border:0;max-width:100%;height:auto;max-height:48px"></div>
</td>
</tr>
`,
  name: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:0 0 20px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;font-weight:600;line-height:1.5;text-align:left;color:#1b1f24;"
>{{name}}</div>
</td>
</tr>
`,
  heading: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:0 0 16px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;line-height:1.5;text-align:left;color:#1b1f24;"
><h1 style="margin:0;font-size:24px;line-height:1.25;font-weight:700">{{heading}}</h1></div>
</td>
</tr>
`,
  text: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:0 0 16px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;line-height:1.5;text-align:left;color:#1b1f24;"
>{{text}}</div>
</td>
</tr>
`,
  panel: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:4px 0 20px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;line-height:1.5;text-align:left;color:#1b1f24;"
><table role="presentation" border="0" cellpadding="0" cellspacing="0" width="100%" style="border-collapse:separate">
<tr><td class="panel" bgcolor="#f6f7f9" style="padding:14px 18px;border-left:4px solid {{act}};border-radius:4px;background:#f6f7f9"><strong style="font-size:18px;line-height:1.35">{{title}}</strong>{{lines}}</td></tr>
</table></div>
</td>
</tr>
`,
  button: `
<tr>
<td
align="left" class="button" style="font-size:0px;padding:8px 0 24px;word-break:break-word;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="border-collapse:separate;line-height:100%;"
>
<tbody>
<tr>
<td
align="center" bgcolor="{{act}}" role="presentation" style="border:none;border-radius:8px;cursor:auto;mso-padding-alt:12px 24px;background:{{act}};" valign="middle"
>
<a
href="{{url}}" style="display:inline-block;background:{{act}};color:{{onAct}};font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;font-weight:600;line-height:120%;margin:0;text-decoration:none;text-transform:none;padding:12px 24px;mso-padding-alt:0px;border-radius:8px;" target="_blank"
>
{{label}}
</a>
</td>
</tr>
</tbody>
</table>
</td>
</tr>
`,
  link: `
<tr>
<td
align="left" class="ink" style="font-size:0px;padding:0 0 12px;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:16px;line-height:1.5;text-align:left;color:#1b1f24;"
><a href="{{url}}" class="link" style="color:{{link}}">{{label}}</a></div>
</td>
</tr>
`,
  end: `
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table></td></tr><![endif]-->
`,
  imprint: `
<!--[if mso | IE]><tr><td class="" width="600px" ><table align="center" border="0" cellpadding="0" cellspacing="0" class="" role="presentation" style="width:568px;" width="568" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div  style="margin:0px auto;max-width:568px;">
<table
align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"
>
<tbody>
<tr>
<td
style="direction:ltr;font-size:0px;padding:16px 28px 0;text-align:center;"
>
<!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td class="" style="vertical-align:top;width:512px;" ><![endif]-->
<div
class="mj-column-per-100 mj-outlook-group-fix" style="font-size:0px;text-align:left;direction:ltr;display:inline-block;vertical-align:top;width:100%;"
>
<table
border="0" cellpadding="0" cellspacing="0" role="presentation" style="vertical-align:top;" width="100%"
>
<tbody>
<tr>
<td
align="center" class="imprint" style="font-size:0px;padding:0;word-break:break-word;"
>
<div
style="font-family:'Segoe UI', Roboto, Helvetica, Arial, sans-serif;font-size:13px;line-height:1.5;text-align:center;color:#57606a;"
>{{imprint}}</div>
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table></td></tr><![endif]-->
`,
  finish: `
<!--[if mso | IE]></table><![endif]-->
</td>
</tr>
</tbody>
</table>
</div>
<!--[if mso | IE]></td></tr></table><![endif]-->
</div>
</body>
</html>
`,
}
