/** A self-signed certificate for the name tls.test, valid until 2120, and its key: only for tests on loopback. */
export const certificate = `\
-----BEGIN CERTIFICATE-----
MIIBXjCCAQSgAwIBAgIBATAKBggqhkjOPQQDAjATMREwDwYDVQQDDAh0bHMudGVz
dDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEzERMA8GA1UEAwwI
dGxzLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARX4zCWm4IZxs9YocPd
wvrSVzpxjdUxLEdO3tI7wupDjBL5SIOTZqAkiFKdzwm9o2wq8By5vzU0yTtuMbmZ
ck6Eo0cwRTATBgNVHREEDDAKggh0bHMudGVzdDAPBgNVHRMBAf8EBTADAQH/MB0G
A1UdDgQWBBRdpBubLzsp9SX/XOJ6TehJEhpfOjAKBggqhkjOPQQDAgNIADBFAiAS
lolKQBhFX1ma1pUqKLYNUScLCo8moV9kWZQbEqo7awIhAKANMNXfV3lrEyj9TloH
Idf252Jk25d76+FMQzRT3WJv
-----END CERTIFICATE-----
`

export const certificateKey = `\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0YMv9TSzVZQO85Ju
QnBS/rUstKU1tCuhnOhqtdLtXtahRANCAARX4zCWm4IZxs9YocPdwvrSVzpxjdUx
LEdO3tI7wupDjBL5SIOTZqAkiFKdzwm9o2wq8By5vzU0yTtuMbmZck6E
-----END PRIVATE KEY-----
`
