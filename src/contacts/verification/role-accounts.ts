/*
 * Local parts that name a function, not a person: from RFC 2142 and the lists of common mail systems. Short on purpose: names that
 * people also have (alexa, grant, mark) are left out.
 */
const roleAccounts = new Set(
  `abuse accounting accounts admin administrator advertising all alerts automated billing bookings bounce bounces career careers
   compliance contact contactus customercare customerservice daemon devnull dns donotreply enquiries enquiry everyone feedback
   finance ftp hello help helpdesk hostmaster hr info information inquiries inquiry investorrelations invoice invoices it
   itsupport jobs legal list listserv mail mailer-daemon mailerdaemon majordomo marketing media moderator news newsletter
   newsletters noc no-reply no_reply no.reply noreply do-not-reply do_not_reply notification notifications nobody null office
   operations ops orders owner payments phish phishing postmaster pr press privacy recruiting recruitment registrar remove
   request reservations returns root sales security service shop spam staff subscribe subscriptions support sysadmin system team
   tech techsupport undisclosed-recipients unsubscribe usenet uucp web webadmin webmaster www
   kontakt buchhaltung vertrieb verkauf bestellung rechnung bewerbung contacto ventas soporte facturacion contato vendas suporte
   financeiro comptabilite commercial facturation amministrazione commerciale biuro kancelaria klantenservice
   verkoop`.split(/\s+/),
)

/** Returns whether the address belongs to a function (`sales@…`, `no-reply@…`). Ignores a `+tag`. */
export const isRoleAccount = (email: string): boolean => {
  const local = email.slice(0, email.lastIndexOf('@'))
  const plus = local.indexOf('+')
  return roleAccounts.has(plus < 0 ? local : local.slice(0, plus))
}
