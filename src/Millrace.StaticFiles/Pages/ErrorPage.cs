using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Planning;

namespace Millrace.StaticFiles.Pages;

/// <summary>
/// The built-in page of an error, for people: the status, its reason and a sentence. It contains nothing of the request, and has no script.
/// Made once in each coding, on first use; any thread: two that race make two equal pages, and one is dropped.
/// </summary>
internal static class ErrorPage
{
    private const int StatusMin = 400;
    private const int StatusMax = 599;

    private static readonly byte[] Sheet = Encoding.UTF8.GetBytes(PageStyle.Colors + """
        body{margin:0 auto;max-width:40rem;padding:15vh 1.5rem 3rem;background:var(--page);color:var(--text);
        font:1.125rem/1.5 system-ui,sans-serif}
        h1{margin:0 0 .5rem;font-size:1.75rem;line-height:1.25;font-weight:600}
        b{color:var(--dim);font-weight:600}
        p{margin:0}
        """);

    private static readonly GeneratedDocument?[] Made = new GeneratedDocument?[(StatusMax - StatusMin + 1) * ContentCodings.Count];

    public static byte[] ContentSecurityPolicy { get; } = PageStyle.PolicyOf(
        style: "A+rHBwJaHsKKpC3uym6RLwQSXno28EJXYKwu+ni18ro=", script: null);

    /// <summary>
    /// The page for an error, or null if the client does not prefer HTML to text. The caller adds the policy and Vary.
    /// </summary>
    /// <param name="status">An error's status that has a reason, see <see cref="StatusLine"/>.</param>
    /// <param name="accept">The request's Accept.</param>
    /// <param name="acceptEncoding">The request's Accept-Encoding; empty if the page is not to be coded.</param>
    public static GeneratedDocument? For(int status, ReadOnlySpan<byte> accept, ReadOnlySpan<byte> acceptEncoding)
    {
        if (!Accept.PrefersHtml(accept))
        {
            return null;
        }

        // A client that accepts no coding at all gets the plain page: the status matters more.
        _ = AcceptEncoding.TryChoose(acceptEncoding, GeneratedDocument.Codings, out ContentCoding coding);
        return Of(status, coding);
    }

    /// <summary>The page for an error, as <see cref="For"/> returns it for clients that prefer HTML.</summary>
    public static GeneratedDocument Of(int status, ContentCoding coding = ContentCoding.Identity)
    {
        ref GeneratedDocument? made = ref Made[((status - StatusMin) * ContentCodings.Count) + (int)coding];
        return made ??= GeneratedDocument.WithoutTag(Render(status), PageStyle.HtmlType).CodedAs(coding);
    }

    private static byte[] Render(int status)
    {
        string text = Encoding.ASCII.GetString(PlannedHead.ErrorTextOf(status)).Trim();
        string reason = text[(text.IndexOf(' ', StringComparison.Ordinal) + 1)..];
        string page = $"""
            {Encoding.UTF8.GetString(PageStyle.Start)}{text}</title>
            <style>{Encoding.UTF8.GetString(Sheet)}</style>
            </head>
            <body>
            <main>
            <h1><b>{status}</b> {reason}</h1>
            <p>{MeaningOf(status)}</p>
            </main>
            </body>
            </html>

            """;
        return Encoding.UTF8.GetBytes(page);
    }

    /// <summary>What an error means to a visitor of the site.</summary>
    private static string MeaningOf(int status) => status switch
    {
        400 => "The address of this page is not valid.",
        401 => "This site asks for a name and a password.",
        403 => "You may not see this page.",
        404 => "There is no page at this address. It may have been moved or removed.",
        405 => "This site can only be read: it takes nothing that is sent to it.",
        406 => "This page does not exist in a form that your browser accepts.",
        408 => "The request took too long to arrive. Please try again.",
        410 => "This page has been removed.",
        412 => "This page has changed since you loaded it. Please load it again.",
        413 => "What you sent is too large for this site.",
        414 => "The address of this page is too long.",
        416 => "The file is shorter than the part that was asked for.",
        421 => "This site is not served over this connection. Please try again.",
        429 => "There were too many requests in a short time. Please wait a moment and try again.",
        501 => "The server does not know this kind of request.",
        503 => "The server is busy at the moment. Please try again soon.",
        >= 500 => "Something went wrong on the server. Please try again later.",
        _ => "The server cannot answer this request.",
    };
}
