using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9113, sections 3.3 and 3.4.</summary>
public class PrefaceTests : Http2Test
{
    [Fact]
    public async Task The_server_begins_with_its_settings_and_acknowledges_the_clients()
    {
        Http2Wire client = await OpenAsync();

        Assert.Equal(0, client.ServerSettings.StreamId);
        Assert.Contains("000300000064", Convert.ToHexString(client.ServerSettings.Payload), StringComparison.Ordinal);
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_preface_that_comes_byte_by_byte_is_one()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        var client = new Http2Wire(await site.ConnectAsync());
        byte[] bytes = [.. Http2Wire.PrefaceBytes, .. Frame.Settings(), .. Frame.Headers(1, Block.Get(Small))];
        foreach (byte one in bytes)
        {
            await client.Wire.SendAsync((byte[])[one]);
        }

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Requests_may_come_with_the_preface()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        var client = new Http2Wire(await site.ConnectAsync());
        await client.Wire.SendAsync(
            (byte[])[.. Http2Wire.PrefaceBytes, .. Frame.Settings(), .. Frame.Headers(1, Block.Get(Small))]);

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_preface_that_goes_wrong_ends_the_connection()
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        foreach (char one in "PRI * HTTP/2.0\r\n\r\nSM\r\nx")
        {
            await wire.SendAsync($"{one}");
        }

        Assert.Equal(505, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task What_only_looks_like_a_preface_is_refused_in_HTTP_1()
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync("PRI * HTTP/2.0\r\nHost: a\r\n\r\n");

        Assert.Equal(505, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task After_a_request_of_HTTP_1_there_is_no_preface()
    {
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        (await wire.GetAsync(Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await wire.SendAsync(Http2Wire.Preface);

        Assert.Equal(505, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_first_frame_that_is_not_SETTINGS_is_an_error_of_the_connection()
    {
        var client = new Http2Wire(await (await StartAsync()).ConnectAsync());
        await client.Wire.SendAsync(Http2Wire.Preface);
        await client.SendAsync(Frame.Headers(1, Block.Get(Small)));

        await client.AssertFailsAsync(Http2Error.ProtocolError);
    }

    [Fact]
    public async Task An_acknowledgement_is_no_first_frame()
    {
        var client = new Http2Wire(await (await StartAsync()).ConnectAsync());
        await client.Wire.SendAsync(Http2Wire.Preface);
        await client.SendAsync(Frame.SettingsAck());

        await client.AssertFailsAsync(Http2Error.ProtocolError);
    }

    [Fact]
    public async Task Where_HTTP_2_is_agreed_on_the_server_speaks_first_and_the_client_with_a_preface()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        var client = new Http2Wire(await site.ConnectAgreedAsync());
        Assert.Equal(FrameType.Settings, (await client.ReadFrameAsync()).Type);
        await client.Wire.SendAsync(Http2Wire.Preface);
        await client.SendAsync(Frame.Settings());

        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n\r\n")]
    [InlineData("PRI * HTTP/2.0\r\n\r\nSM\r\n\rx")]
    public async Task Where_HTTP_2_is_agreed_on_anything_else_than_a_preface_is_a_PROTOCOL_ERROR(string text)
    {
        var client = new Http2Wire(await (await StartAsync()).ConnectAgreedAsync());
        await client.Wire.SendAsync(text);

        await client.AssertFailsAsync(Http2Error.ProtocolError);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_idle_connection_that_rested_can_still_begin()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync();

        // A session of HTTP/1.1 gives its connection up after 2 s, which it then has again.
        // Sleeps: a real reactor's clock measures the rest.
        await Task.Delay(TimeSpan.FromSeconds(2.5), TestContext.Current.CancellationToken);
        var client = new Http2Wire(wire);
        await wire.SendAsync(Http2Wire.Preface);
        await client.SendAsync(Frame.Settings());

        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }
}
