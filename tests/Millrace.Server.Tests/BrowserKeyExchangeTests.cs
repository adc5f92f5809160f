using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>The key exchange that a browser sees where the server's OpenSSL is of version 3.5 or later.</summary>
public class BrowserKeyExchangeTests
{
    [Fact]
    [Trait("Duration", "Long")]
    public async Task Chromium_reports_the_post_quantum_group()
    {
        BrowserSession.Require();
        using var keys = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartWithAsync(
            await NewerOpenSsl.RequireAsync(), [Places.SampleSite, "--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "own", "localhost")]);
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using IBrowserContext profile = await browser.NewProfileAsync(new() { IgnoreHTTPSErrors = true });
        IPage page = await profile.NewPageAsync();
        ICDPSession session = await profile.NewCDPSessionAsync(page);
        var group = new TaskCompletionSource<string?>();
        session.Event("Network.responseReceived").OnEvent += (_, message) =>
            group.TrySetResult(message?.GetProperty("response").GetProperty("securityDetails").GetProperty("keyExchangeGroup").GetString());
        await session.SendAsync("Network.enable");
        await page.GotoAsync(server.Url.ToString());

        Assert.Equal("X25519MLKEM768", await group.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
    }
}
