using Millrace.Engine;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>A site whose paths below /api/ go to an upstream of raw sockets.</summary>
public abstract class ProxyTest : SiteFixture
{
    internal const string Get = "GET /api/a?b=c HTTP/1.1\r\nHost: example.org\r\n\r\n";
    internal const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private protected RawUpstream Upstream { get; private set; } = null!;

    private protected RunningSite Site { get; private set; } = null!;

    private protected async Task<RunningSite> StartProxyAsync(
        HttpServerLimits? limits = null,
        EngineOptions? engine = null,
        Func<Reactor, Action<HttpExchange>>? observe = null,
        UpstreamOptions? upstreams = null,
        Func<SiteOptions, SiteOptions>? site = null)
    {
        Upstream = Own(RawUpstream.Start());
        Site = await StartAsync(Options, limits, engine, observe, upstreams);
        return Site;

        SiteOptions Options(SiteOptions options)
        {
            options = options with { Proxies = [new ProxyRule("/api/*", [Upstream.Target])] };
            return site?.Invoke(options) ?? options;
        }
    }

    /// <summary>The same, where the upstream is reached through a filter, as through TLS: its connection has no end of one direction.</summary>
    private protected Task<RunningSite> StartFilteredProxyAsync(UpstreamOptions upstreams) => StartProxyAsync(
        upstreams: upstreams with { TlsFilters = static _ => static _ => [new CopyFilter(long.MaxValue)] },
        site: options => options with { Proxies = [new ProxyRule("/api/*", [$"https://{Upstream.EndPoint}"])] });

    /// <summary>Sends a request by a new connection; the upstream has its head.</summary>
    private protected async Task<(Wire Client, UpstreamWire Upstream, string Head)> BeginAsync(string request = Get)
    {
        if (Site is null)
        {
            await StartProxyAsync();
        }

        Wire client = await Site!.ConnectAsync();
        await client.SendAsync(request);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        return (client, upstream, await upstream.ReadHeadAsync());
    }

    /// <summary>Sends a response with a length; by default that of the bytes.</summary>
    private protected static async Task SendAsync(UpstreamWire upstream, byte[] bytes, int? length = null)
    {
        await upstream.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {length ?? bytes.Length}\r\n\r\n");
        await upstream.SendAsync(bytes);
    }

    private protected static byte[] RandomBytes(int count)
    {
        byte[] bytes = new byte[count];
        new Random(count).NextBytes(bytes);
        return bytes;
    }

    /// <summary>The upstream gets a head that announces an empty body, for <c>/api/</c>.</summary>
    private protected static async Task AssertHeadWithLengthOf0Async(UpstreamWire upstream, string method)
    {
        string head = await upstream.ReadHeadAsync();
        Assert.StartsWith($"{method} /api/ ", head, StringComparison.Ordinal);
        Assert.Contains("\r\nContent-Length: 0\r\n", head, StringComparison.Ordinal);
        Assert.DoesNotContain("Transfer-Encoding", head, StringComparison.OrdinalIgnoreCase);
    }
}
