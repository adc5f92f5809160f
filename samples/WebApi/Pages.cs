using System.Text;

namespace WebApi;

/// <summary>The answers that bench/kestrel asks for: a line, at once or after a wait, a small object, ten kilobytes.</summary>
internal static class Pages
{
    private static readonly byte[] Line = "Hello, World!"u8.ToArray();
    private static readonly byte[] TenKilobytes = Encoding.ASCII.GetBytes(new string('w', 10_240));

    public static void MapPages(this IEndpointRouteBuilder app)
    {
        app.MapGet("/plaintext", static (HttpContext context) => Send(context.Response, Line));
        app.MapGet("/10k", static (HttpContext context) => Send(context.Response, TenKilobytes));
        app.MapGet("/awaited", static async (HttpContext context) =>
        {
            await Task.Yield(); // As who asks a database: it goes on on the thread pool.
            await Send(context.Response, Line);
        });
        app.MapGet("/json", static () => new Greeting("Hello, World!"));
    }

    private static Task Send(HttpResponse response, byte[] body)
    {
        response.ContentType = "text/plain";
        response.ContentLength = body.Length;
        return response.Body.WriteAsync(body).AsTask();
    }
}

/// <summary>A small object.</summary>
internal sealed record Greeting(string Message);
