const weekdays = [1, 2, 3, 4, 5]

/**
 * Returns the file of the sample project `Welcome` of `svc dev`, with a block of every type. Its merge tags are `name` and `email`.
 * `imageUrl` must be an image of 560 by 200 pixels, and `logo.png` beside it one of 160 by 40.
 */
export const sampleProject = (imageUrl: string) => ({
  name: 'Welcome',
  preheader: 'Three short questions, and a mug at the end',
  theme: { width: 600, logo: new URL('logo.png', imageUrl).href },
  blocks: [
    {
      id: 'intro',
      type: 'section',
      props: {},
      children: [
        { id: 'top', type: 'spacer', props: { height: 16 } },
        { id: 'hello', type: 'heading', props: { text: 'Welcome aboard {{ name }}', level: 1 } },
        {
          id: 'why',
          type: 'text',
          props: {
            text: 'Good to have you with us. This email shows every block that a project can have.\n\nEach answer is an event that your own code can receive.',
          },
        },
        {
          id: 'picture',
          type: 'image',
          props: { src: imageUrl, alt: 'A harbour in the morning', href: 'https://example.com/harbour' },
        },
        {
          id: 'start',
          type: 'button',
          props: { label: 'Start here', url: 'https://example.com/start?email={{ email }}' },
        },
      ],
    },
    {
      id: 'twice',
      type: 'columns',
      props: { widths: [1, 1] },
      children: [
        { id: 'left', type: 'text', props: { text: 'Send an email with one call, and see what happened to it.' } },
        { id: 'right', type: 'text', props: { text: 'Or let a journey decide who gets which email, and when.' } },
      ],
    },
    {
      id: 'table',
      type: 'html',
      props: {
        html: `<table width="100%" cellpadding="6" cellspacing="0">
<tr><th align="left" style="border-bottom:1px solid #94a3b8">Block</th><th align="left" style="border-bottom:1px solid #94a3b8">Answer</th></tr>
<tr><td>Vote, rating, quiz</td><td>in one click</td></tr>
<tr><td>Form, booking, checkout</td><td>on a page of yours</td></tr>
</table>`,
      },
    },
    { id: 'line', type: 'divider', props: {} },
    {
      id: 'colour',
      type: 'vote',
      props: { question: 'Which colour should the sail have?', options: ['Red', 'Blue', 'White'] },
    },
    { id: 'stars', type: 'rating', props: { question: 'How easy was the setup?', max: 5 } },
    {
      id: 'knots',
      type: 'quiz',
      props: {
        question: 'How fast is one knot?',
        options: ['1 km/h', '1.852 km/h', '3.6 km/h'],
        correct: 1,
        explanation: 'A knot is one nautical mile an hour.',
      },
    },
    { id: 'air', type: 'spacer', props: { height: 16 } },
    {
      id: 'about',
      type: 'form',
      props: {
        title: 'Tell us about you',
        fields: [
          { name: 'company', label: 'Company', type: 'text', required: true },
          { name: 'size', label: 'Team size', type: 'select', options: ['Just me', '2 to 10', 'More'] },
          { name: 'wishes', label: 'What would you like to see?', type: 'textarea' },
        ],
      },
    },
    {
      id: 'call',
      type: 'booking',
      props: {
        title: 'Book a call with us',
        durationMinutes: 30,
        timezone: 'Europe/Berlin',
        availability: weekdays.map((day) => ({ day, from: '09:00', to: '17:00' })),
        days: 14,
      },
    },
    {
      id: 'mug',
      type: 'checkout',
      props: {
        title: 'The sailor’s mug',
        items: [
          { name: 'Enamel mug', quantity: 2, amount: 12.5 },
          { name: 'Postage', quantity: 1, amount: 4 },
        ],
        currency: 'EUR',
      },
    },
  ],
})
