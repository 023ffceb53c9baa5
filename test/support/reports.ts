/** A message that a report is about: its id, the domain of its sender, and the address for reports. */
export interface Reported {
  id: string
  domain?: string
  /** The recipient of the report; omitted: not an address of the product. */
  to?: string | undefined
  /** The Message-ID of the report itself. */
  messageId?: string
}

const lines = (text: string): string => text.replace(/^\n/, '').replace(/\r?\n/g, '\r\n')

const originalOf = ({ id, domain = 'shop.example' }: Reported) => `Return-Path: <hello@shop.example>
From: The Shop <hello@shop.example>
To: ada@people.example
Subject: Your order
Message-ID:
 <${id}@${domain}>
MIME-Version: 1.0
Content-Type: text/plain`

interface Status {
  action?: string
  status?: string
  finalRecipient?: string
  diagnostic?: string
}

/** In the format of Postfix. */
export const postfix = (
  about: Reported,
  { action = 'failed', status = '5.1.1', finalRecipient = 'ada@people.example', diagnostic }: Status = {},
): string =>
  lines(`
Return-Path: <>
Received: by mx.people.example (Postfix) id 4F8D92C0; Sun, 22 Nov 2026 10:00:00 +0000 (UTC)
Date: Sun, 22 Nov 2026 10:00:00 +0000 (UTC)
From: MAILER-DAEMON@mx.people.example (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: ${about.to ?? 'hello@shop.example'}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary="4F8D92C0.1795341600/mx.people.example"
Content-Transfer-Encoding: 8bit
Message-Id: <${about.messageId ?? `20261122100000.${about.id}.${action}.${status}`}@mx.people.example>

This is a MIME-encapsulated message.

--4F8D92C0.1795341600/mx.people.example
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host mx.people.example.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients.

--4F8D92C0.1795341600/mx.people.example
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.people.example
X-Postfix-Queue-ID: 4F8D92C0
X-Postfix-Sender: rfc822; hello@shop.example
Arrival-Date: Sun, 22 Nov 2026 09:59:58 +0000 (UTC)

Final-Recipient: rfc822; ${finalRecipient}
Original-Recipient: rfc822;${finalRecipient}
Action: ${action}
Status: ${status}
Remote-MTA: dns; store.people.example
Diagnostic-Code: ${
    diagnostic ??
    `smtp; 550 ${status} <${finalRecipient}>:
    Recipient address rejected: User unknown in virtual mailbox table`
  }

--4F8D92C0.1795341600/mx.people.example
Content-Description: Undelivered Message
Content-Type: message/rfc822
Content-Transfer-Encoding: 8bit

${originalOf(about)}

It is on its way.

--4F8D92C0.1795341600/mx.people.example--
`)

/** In the format of Exchange Online: HTML first in an alternative, headers in capitals, the status part in base64. */
export const exchange = (about: Reported): string => {
  const status = lines(`
Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchangelabs.com
Received-From-MTA: dns;AM9PR01CA0001.eurprd01.prod.exchangelabs.com
Arrival-Date: Sun, 22 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822;ada@people.example
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient
  not found by SMTP address lookup
X-Display-Name: Ada

`)
  return lines(`
From: "Microsoft Outlook" <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@people.example>
To: <${about.to ?? 'hello@shop.example'}>
Date: Sun, 22 Nov 2026 10:00:02 +0000
Content-Type: multipart/report; report-type=delivery-status;
 boundary="_002_60c1"
X-MS-Exchange-Message-Is-Ndr:
Content-Language: en-GB
Message-ID: <60c1-${about.id}@AM0PR01MB0001.eurprd01.prod.exchangelabs.com>
In-Reply-To: <${about.id}@shop.example>
References: <${about.id}@shop.example>
Subject: Undeliverable: Your order
Auto-Submitted: auto-replied
MIME-Version: 1.0

--_002_60c1
Content-Type: multipart/alternative; differences=Content-Type;
 boundary="_001_60c1"

--_001_60c1
Content-Type: text/plain; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

[http://products.office.com/en-us/CMSImages/Office365Logo_Orange.png?version=3D=
b8d100a9-0a8b-8e6a-88e1-ef488fee0470]
Your message to ada@people.example couldn't be delivered.

--_001_60c1
Content-Type: text/html; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

<html><body>Your message couldn't be delivered.</body></html>

--_001_60c1--

--_002_60c1
Content-Type: message/delivery-status
Content-Transfer-Encoding: base64

${Buffer.from(status)
  .toString('base64')
  .replace(/(.{76})/g, '$1\n')}

--_002_60c1
CONTENT-TYPE: MESSAGE/RFC822

FROM: The Shop <hello@shop.example>
MESSAGE-ID: <${about.id}@Shop.Example>
SUBJECT: Your order

It is on its way.
--_002_60c1--
`)
}

/** In the format of Exim: only the headers are returned; the address was forwarded to two others, one of which accepted. */
export const exim = (about: Reported): string =>
  lines(`
Received: from Debian-exim by mx.people.example with local (Exim 4.96)
	id 1tEXaM-0001Qx-0W
	for ${about.to ?? 'hello@shop.example'};
	Sun, 22 Nov 2026 10:00:00 +0000
X-Failed-Recipients: deep@people.example
Auto-Submitted: auto-replied
From: Mail Delivery System <Mailer-Daemon@mx.people.example>
To: ${about.to ?? 'hello@shop.example'}
References: <${about.id}@shop.example>
Content-Type: multipart/report; report-type=delivery-status; boundary=1795341600-eximdsn-1804289383
MIME-Version: 1.0
Subject: Mail delivery failed: returning message to sender
Message-Id: <E1tEXaM-${about.id}@mx.people.example>
Date: Sun, 22 Nov 2026 10:00:00 +0000

--1795341600-eximdsn-1804289383
Content-type: text/plain; charset=us-ascii

A message that you sent could not be delivered to one or more of its recipients.

--1795341600-eximdsn-1804289383
Content-type: message/delivery-status

Reporting-MTA: dns; mx.people.example

Action: delivered
Final-Recipient: rfc822;first@people.example
Status: 2.0.0

Action: failed
Final-Recipient: rfc822;deep@people.example
Status: 5.0.0

--1795341600-eximdsn-1804289383
Content-type: text/rfc822-headers

${originalOf(about)}

--1795341600-eximdsn-1804289383--
`)

/** In the format of qmail: readable by people, not by machines. */
export const qmail = (about: Reported): string =>
  lines(`
Return-Path: <>
Delivered-To: hello@shop.example
Date: 22 Nov 2026 10:00:00 -0000
From: MAILER-DAEMON@mx.people.example
To: ${about.to ?? 'hello@shop.example'}
Subject: failure notice

Hi. This is the qmail-send program at mx.people.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<ada@people.example>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

${originalOf(about)}

It is on its way.
`)

/** A report about a message that is only delayed, in the format of Google. */
export const googleDelayed = (about: Reported): string =>
  postfix(about, {
    action: 'delayed (will retry)',
    status: '4.4.1',
    diagnostic: 'smtp; The recipient server did not accept our requests to connect.',
  })

/** An abuse report in the format of Yahoo, with its addressee in another place and the recipient redacted. */
export const yahoo = (about: Reported, type = 'abuse'): string =>
  lines(`
From: Yahoo! Mail AntiSpam Feedback <feedback@arf.mail.yahoo.com>
To: ${about.to ?? 'fbl@shop.example'}
Subject: FW: Your order
Message-ID: <${about.messageId ?? `arf.${about.id}.${type}`}@arf.mail.yahoo.com>
Date: Sun, 22 Nov 2026 12:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/report; boundary="----=_Part_57_ARF"; report-type=feedback-report

------=_Part_57_ARF
Content-Type: text/plain; charset="US-ASCII"
Content-Transfer-Encoding: 7bit

This is an email abuse report for an email message from shop.example on Sun, 22 Nov 2026 11:50:00 +0000

------=_Part_57_ARF
Content-Type: message/feedback-report

Feedback-Type: ${type}
User-Agent: Yahoo!-Mail-Feedback/2.0
Version: 0.1
Original-Mail-From: <hello@shop.example>
Original-Rcpt-To: redacted@yahoo.example
Received-Date: Sun, 22 Nov 2026 11:50:00 +0000
Reported-Domain: shop.example
Authentication-Results: mta.yahoo.example; dkim=pass (ok)

------=_Part_57_ARF
Content-Type: message/rfc822

${originalOf(about)}

It is on its way.
------=_Part_57_ARF--
`)

/** Messages in one file, as mail programs store them. */
export const mbox = (...messages: string[]): string =>
  messages
    .map((message) => `From MAILER-DAEMON Sun Nov 22 10:00:00 2026\r\n${message.replace(/^(>*From )/gm, '>$1')}\r\n`)
    .join('')
