using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class KeepAliveTests : SiteFixture
{
    [Fact]
    public async Task A_connection_serves_one_request_after_the_other()
    {
        Folder.AddSizes();
        Wire wire = await (await StartAsync()).ConnectAsync();

        foreach (int size in SiteFolder.Sizes.Concat(SiteFolder.Sizes.Reverse()))
        {
            Response response = await wire.GetAsync(SiteFolder.Target(size));

            response.AssertIsWhole(SiteFolder.Bytes(size));
            Assert.Null(response.Field("Connection"));
        }
    }

    [Theory]
    [InlineData("HTTP/1.1", "Connection: close\r\n")]
    [InlineData("HTTP/1.1", "Connection: foo, CLOSE\r\n")]
    [InlineData("HTTP/1.1", "Connection: keep-alive, close\r\n")]
    [InlineData("HTTP/1.0", "")]
    [InlineData("HTTP/1.0", "Connection: close\r\n")]
    public async Task A_request_that_is_the_last_gets_its_response_and_the_end(string version, string field)
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync();
        foreach (int size in SiteFolder.Sizes)
        {
            Wire wire = await site.ConnectAsync();
            // What follows the last request is no request.
            await wire.SendAsync($"GET {SiteFolder.Target(size)} {version}\r\nHost: a\r\n{field}\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");

            Response response = await wire.ReadResponseAsync();

            response.AssertIsWhole(SiteFolder.Bytes(size));
            Assert.Equal("close", response.Field("Connection"));
            await wire.AssertEndsAsync();
        }
    }

    /// <summary>What they have said is taken for their end: thousands of them would otherwise each take a place for so long.</summary>
    [Theory]
    [InlineData("HTTP/1.1", "Connection: close\r\n", 1)]
    [InlineData("HTTP/1.1", "Connection: close\r\n", 3_000_000)]
    [InlineData("HTTP/1.0", "", 1_000)]
    public async Task Who_has_said_that_it_sends_nothing_more_is_not_waited_for(string version, string field, int size)
    {
        Folder.AddSized(size);
        RunningSite site = await StartAsync(engine: new EngineOptions { Reactors = 1, Limits = new Limits { Linger = TimeSpan.FromHours(1) } });
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync($"GET {SiteFolder.Target(size)} {version}\r\nHost: a\r\n{field}\r\n");

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
        await wire.AssertEndsAsync();
        await site.EmptiedAsync();
    }

    [Fact]
    public async Task A_client_of_http_1_0_that_asks_for_it_keeps_its_connection()
    {
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();

        for (int i = 0; i < 3; i++)
        {
            await wire.SendAsync($"GET {SiteFolder.Target(1000)} HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
            Response response = await wire.ReadResponseAsync();

            response.AssertIsWhole(SiteFolder.Bytes(1000));
            Assert.Equal("keep-alive", response.Field("Connection"));
        }
    }

    [Fact]
    public async Task A_client_that_has_finished_sending_still_gets_its_responses()
    {
        Folder.AddSizes();
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(string.Concat(SiteFolder.Sizes.Select(size => $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n")));
        wire.FinishSending();

        foreach (int size in SiteFolder.Sizes)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
        }

        await wire.AssertEndsAsync();
    }

    /// <summary>Some clients send one after a body (RFC 9112, section 2.2): before, within and after the pause that ends a session.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Empty_lines_before_a_request_are_passed_over_whenever_they_come()
    {
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync("\r\n");
        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        await wire.SendAsync("\r");
        await wire.SendAsync("\n");
        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        await wire.SendAsync("\r\n");
        // Sleeps: a real reactor's clock measures the rest.
        await Task.Delay(TimeSpan.FromSeconds(2.5));
        await wire.SendAsync("\r\n\r\n");

        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_client_that_pauses_for_longer_than_its_session_is_served_as_before()
    {
        Folder.AddSizes();
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.GetAsync(SiteFolder.Target(SiteFolder.Sizes[0]));
        // Sleeps: a real reactor's clock measures the rest.
        await Task.Delay(TimeSpan.FromSeconds(2.5));

        foreach (int size in SiteFolder.Sizes)
        {
            (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(SiteFolder.Bytes(size));
        }
    }
}
