using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.HttpOverrides;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Whom a request is for, where the server below takes more than the site does.</summary>
public sealed class OriginTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public OriginTests() => _folder.Add("one.txt", "1");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("localhost:99999")]
    [InlineData("..a")]
    [InlineData("a..b")]
    public async Task A_file_is_not_for_what_is_not_a_host_and_an_endpoint_decides_for_itself(string host)
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.Run(static context => context.Response.WriteAsync("endpoint"));
        });

        Assert.StartsWith("HTTP/1.1 400 ", await Exchange.SendToAsync(app, host, "GET", "/one.txt"), StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 200 ", await Exchange.SendToAsync(app, "localhost", "GET", "/one.txt"), StringComparison.Ordinal);
        Assert.Contains("endpoint", await Exchange.SendToAsync(app, "localhost", "GET", "/two"), StringComparison.Ordinal);
    }

    // RFC 9110 section 7.4. A proxy that the application trusts says that its client had TLS.
    [Fact]
    public async Task An_https_resource_is_misdirected_without_tls_unless_a_trusted_proxy_had_it()
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseForwardedHeaders(new ForwardedHeadersOptions { ForwardedHeaders = ForwardedHeaders.XForwardedProto });
            app.UseMillraceStaticFiles(_folder.Root);
        });

        const string Target = "https://localhost/one.txt";
        Assert.StartsWith("HTTP/1.1 421 ", await Exchange.SendAsync(app, "GET", Target), StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 200 ", await Exchange.SendAsync(app, "GET", "http://localhost/one.txt"), StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 200 ", await Exchange.SendAsync(app, "GET", Target, "X-Forwarded-Proto: https"), StringComparison.Ordinal);
    }
}
