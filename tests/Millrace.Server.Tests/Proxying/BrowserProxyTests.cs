using System.Text.Json;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>Chromium with a built front end whose <c>/api</c> is an ASP.NET Core program: over HTTP/1.1, and with HTTPS over HTTP/2.</summary>
public class BrowserProxyTests
{
    private const string Socket = """
        async texts => {
          const socket = new WebSocket(location.origin.replace('http', 'ws') + '/api/socket');
          const got = [];
          await new Promise((done, fail) => {
            socket.onopen = () => texts.forEach(text => socket.send(text));
            socket.onerror = () => fail(new Error('the socket failed'));
            socket.onmessage = message => { got.push(message.data); if (got.length === texts.length) { socket.close(1000); } };
            socket.onclose = end => end.wasClean ? done() : fail(new Error('not closed in order: ' + end.code));
          });
          return got;
        }
        """;

    private const string Events = """
        async count => {
          const events = new EventSource('/api/events/' + count);
          const got = [];
          await new Promise((done, fail) => {
            events.onerror = () => fail(new Error('the stream failed'));
            events.onmessage = event => { got.push(event.lastEventId + ' ' + event.data); if (got.length === count) { done(); } };
          });
          events.close();
          return got;
        }
        """;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_built_front_end_speaks_with_its_application(bool isSecure)
    {
        BrowserSession.Require();
        string root = await GeneratedSite.BuildAsync();
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartInAsync(root, ProxiedSite.Upstream(upstream), "--spa");
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using IBrowserContext profile = await browser.NewProfileAsync(new() { IgnoreHTTPSErrors = true });
        IPage page = await browser.OpenAsync(profile, new Uri(isSecure ? site.SecureUrl : site.Url, "visits/2026/5"));
        await page.GetByText("Visits in May 2026").WaitForAsync();
        string protocol = await page.EvaluateAsync<string>("() => performance.getEntriesByType('navigation')[0].nextHopProtocol");
        Assert.Equal(isSecure ? "h2" : "http/1.1", protocol);

        string echo = await page.EvaluateAsync<string>(
            "async () => (await fetch('/api/echo?from=page', { method: 'POST', body: 'grain' })).text()");
        Assert.StartsWith("POST /api/echo?from=page HTTP/1.1", echo, StringComparison.Ordinal);
        Assert.Contains($"X-Forwarded-Proto: {(isSecure ? "https" : "http")}\n", echo, StringComparison.OrdinalIgnoreCase);

        string[] texts = [.. Enumerable.Range(0, 50).Select(static i => $"turn {i}"), new string('m', 300_000)];
        Assert.Equal(texts, await page.EvaluateAsync<string[]>(Socket, texts));
        string[] events = await page.EvaluateAsync<string[]>(Events, 20);
        Assert.Equal(Enumerable.Range(0, 20).Select(static i => $"{i} event {i}"), events);

        // Several of each at once, on one connection with HTTP/2.
        JsonElement? all = await page.EvaluateAsync(
            $"async () => (await Promise.all([1, 2, 3, 4].map(i => ({Socket})([String(i)])))).flat()");
        Assert.Equal(["1", "2", "3", "4"], all!.Value.EnumerateArray().Select(static item => item.GetString()!));
        Assert.Equal(404, await page.EvaluateAsync<int>("async () => (await fetch('/api/none')).status"));
        Assert.DoesNotContain(browser.Troubles, static trouble => !trouble.Contains("404", StringComparison.Ordinal)
            && !trouble.Contains("ERR_ABORTED", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_page_that_leaves_ends_its_sockets_and_streams(bool isSecure)
    {
        BrowserSession.Require();
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        int before = upstream.OpenFiles().Count(static file => file.StartsWith("socket:", StringComparison.Ordinal));
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using IBrowserContext profile = await browser.NewProfileAsync(new() { IgnoreHTTPSErrors = true });
        IPage page = await browser.OpenAsync(profile, isSecure ? site.SecureUrl : site.Url);
        await page.EvaluateAsync("""
            () => Promise.all([1, 2, 3].map(i => new Promise(done => {
              window['socket' + i] = new WebSocket(location.origin.replace('http', 'ws') + '/api/socket');
              window['socket' + i].onopen = done;
            })).concat(new Promise(done => { window.events = new EventSource('/api/events/1'); window.events.onmessage = done; })))
            """);
        Assert.True(Sockets() >= before + 4, "Four connections are open.");
        await page.CloseAsync();
        for (int i = 0; Sockets() > before + 1; i++)
        {
            Assert.True(i < 600, $"{Sockets() - before} connections to the upstream are left.");
            // Sleeps: nobody tells when the application has noticed.
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }

        int Sockets() => upstream.OpenFiles().Count(static file => file.StartsWith("socket:", StringComparison.Ordinal));
    }
}
