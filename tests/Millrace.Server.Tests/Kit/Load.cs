using System.Net;

namespace Millrace.Server.Tests.Kit;

/// <summary>What a site is asked for on a usual day, until it is disposed: pages, pictures, what is cached, what is not there.</summary>
internal sealed class Load : IAsyncDisposable
{
    private static readonly string[] Targets =
        ["", "styles/site.css", "scripts/site.js", "images/dawn.jpg", "about/", "gallery/", "images/dawn-wide.jpg", "nowhere"];

    /// <summary>The codings that each client takes.</summary>
    private static readonly DecompressionMethods[] Taken =
        [DecompressionMethods.All, DecompressionMethods.None, DecompressionMethods.GZip, DecompressionMethods.All];

    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;

    public Load(Uri server) =>
        _running = Task.WhenAll(Enumerable.Range(0, Taken.Length).Select(client => Task.Run(() => RunAsync(server, client))));

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running;
        _stop.Dispose();
    }

    private async Task RunAsync(Uri server, int client)
    {
        using var handler = new SocketsHttpHandler { AutomaticDecompression = Taken[client] };
        using var http = new HttpClient(handler) { BaseAddress = server };
        for (int i = client; !_stop.IsCancellationRequested; i++)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(Targets[i % Targets.Length], UriKind.Relative));
            if (i % 3 == 0)
            {
                request.Headers.IfModifiedSince = DateTimeOffset.UtcNow;
            }

            try
            {
                using HttpResponseMessage response = await http.SendAsync(request, _stop.Token);
                _ = await response.Content.ReadAsByteArrayAsync(_stop.Token);
                await Task.Delay(PauseMs(i, client), _stop.Token);
            }
            catch (OperationCanceledException)
            {
                // It is over.
            }
        }
    }

    /// <summary>It ebbs and flows, each client's on its own.</summary>
    private static int PauseMs(int request, int client) => (int)(8 + (6 * Math.Sin((request / 300.0) + client)));
}
