using Millrace.Web.Tests.Kit;

namespace Millrace.Web.Tests;

/// <summary>A port of plain HTTP that sends its clients to HTTPS.</summary>
public class RedirectTests : SiteFixture
{
    private readonly RecordingObserver _observer = new();

    [Theory]
    [InlineData("a.example:80", "/a?b", "https://a.example/a?b")]
    [InlineData("[::1]:80", "/", "https://[::1]/")]
    public async Task A_request_is_sent_to_the_same_host(string host, string target, string location)
    {
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");

        Answer answer = await wire.ReadAnswerAsync();

        Assert.Equal((308, location), (answer.Status, answer.Field("Location")));
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("Host: :80\r\n")]
    [InlineData("Host: :\r\n")]
    [InlineData("Host:\r\n")]
    public async Task Without_a_host_it_is_not_sent_to_what_its_path_names(string field)
    {
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync($"GET /evil.example/ HTTP/1.1\r\n{field}\r\n");

        Answer answer = await wire.ReadAnswerAsync();

        Assert.Equal(400, answer.Status);
        Assert.Null(answer.Field("Location"));
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("G")]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n")]
    public async Task A_head_that_does_not_end_is_answered_408_and_told(string beginning)
    {
        RunningSite site = await StartAsync(
            limits: new WebLimits { Head = TimeSpan.FromMilliseconds(300) }, observe: _ => _observer);
        Wire wire = await site.ConnectPlainAsync();
        await wire.SendAsync(beginning);

        Answer answer = await wire.ReadAnswerAsync();

        Assert.Equal((408, "close"), (answer.Status, answer.Field("Connection")));
        await wire.AssertEndsAsync();
        Assert.Equal(408, (await _observer.NextAsync()).Status);
    }

    [Fact]
    public async Task Who_asks_for_nothing_is_answered_nothing()
    {
        RunningSite site = await StartAsync(
            limits: new WebLimits { Head = TimeSpan.FromMilliseconds(300) }, observe: _ => _observer);
        Wire wire = await site.ConnectPlainAsync();

        Assert.Empty((await wire.ReadToEndAsync()).Bytes);
    }
}
