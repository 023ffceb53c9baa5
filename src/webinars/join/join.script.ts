/**
 * Script of the join page that reports every 60 s that it is open, and reloads it when the state of the session changes. The first report
 * of many pages, which all reload at the start, is spread over 5 s.
 */
export const presenceScript = `
const presence = document.getElementById('presence')
if (presence) {
  const { url, status } = presence.dataset
  const report = async () => {
    const answer = await fetch(url, { method: 'POST' }).catch(() => null)
    if (answer && answer.ok && (await answer.json()).status !== status) location.reload()
    if (answer && answer.status === 404) clearInterval(timer)
  }
  const timer = setInterval(report, 60000)
  setTimeout(report, Math.random() * 5000)
}
`
