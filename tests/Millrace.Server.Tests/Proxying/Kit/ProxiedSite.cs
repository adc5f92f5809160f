using System.Net;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Proxying.Kit;

/// <summary>The published program in front of an upstream for <c>/api/*</c>, with a site of one page, over HTTP and HTTPS.</summary>
internal sealed class ProxiedSite : IAsyncDisposable
{
    public const string Page = "<!doctype html><title>The mill</title><link rel=icon href=data:,><h1>The mill</h1>";

    private readonly TempFolder _folder = new();
    private readonly HttpClient _client = new(new SocketsHttpHandler
    {
        AutomaticDecompression = DecompressionMethods.None,
        AllowAutoRedirect = false,
        UseCookies = false,
        Expect100ContinueTimeout = TimeSpan.FromSeconds(60),
        SslOptions = { RemoteCertificateValidationCallback = OwnCertificate.IsAnything },
    })
    {
        Timeout = TimeSpan.FromMinutes(5),
    };

    private ProxiedSite()
    {
    }

    /// <summary>The versions that clients speak to it.</summary>
    public static TheoryData<string> Versions => ["1.1", "2.0"];

    public ServerProcess Server { get; private set; } = null!;

    public Uri Url => AddressOf(Uri.UriSchemeHttp);

    public Uri SecureUrl => AddressOf(Uri.UriSchemeHttps);

    /// <summary>Starts it with one reactor, so that its pool is one.</summary>
    /// <param name="upstreams">The targets, as the option names them.</param>
    /// <param name="options">Other options.</param>
    public static Task<ProxiedSite> StartAsync(string upstreams, params string[] options) => StartInAsync(null, upstreams, options);

    /// <summary>The same for a folder of the caller's.</summary>
    public static async Task<ProxiedSite> StartInAsync(string? root, string upstreams, params string[] options)
    {
        var site = new ProxiedSite();
        try
        {
            site._folder.WriteText("index.html", Page);
            site.Server = await ServerProcess.StartAsync(
            [
                root ?? site._folder.Root, "--listen", "127.0.0.1:0", "--https", "127.0.0.1:0", "--reactors", "1",
                .. OwnCertificate.Make(site._folder, ".own", "localhost"), "--proxy", $"/api/* {upstreams}", .. options,
            ]);
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    private Uri AddressOf(string scheme) => Server.Addresses.Select(static address => new Uri(address)).First(url => url.Scheme == scheme);

    public static string Upstream(ServerProcess upstream) => upstream.Addresses[0].TrimEnd('/');

    /// <summary>One request in the given version; over cleartext HTTP/2 by prior knowledge.</summary>
    public async Task<HttpResponseMessage> SendAsync(
        string version, HttpMethod method, string target, HttpContent? body = null, Action<HttpRequestMessage>? change = null,
        HttpCompletionOption completion = HttpCompletionOption.ResponseContentRead)
    {
        using var request = new HttpRequestMessage(method, new Uri(Url, target))
        {
            Version = Version.Parse(version),
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = body,
        };
        change?.Invoke(request);
        return await _client.SendAsync(request, completion, TestContext.Current.CancellationToken);
    }

    public async Task<string> GetAsync(string version, string target)
    {
        using HttpResponseMessage response = await SendAsync(version, HttpMethod.Get, target);
        string text = await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        Assert.True(response.StatusCode == HttpStatusCode.OK, $"{target}: {(int)response.StatusCode}\n{text}\n{Server.Said()}");
        return text;
    }

    public async Task<int> StatusAsync(string version, string target)
    {
        using HttpResponseMessage response = await SendAsync(version, HttpMethod.Get, target);
        return (int)response.StatusCode;
    }

    public async ValueTask DisposeAsync()
    {
        _client.Dispose();
        await (Server?.DisposeAsync() ?? default);
        _folder.Dispose();
    }
}
