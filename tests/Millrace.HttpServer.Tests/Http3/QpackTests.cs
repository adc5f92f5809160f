using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Field sections that use the client's table (RFC 9204), and what clients can do wrong with it.</summary>
public class QpackTests : Http3Test
{
    /// <summary>GET, https, the host, and as the path the first entry of the table, which is inserted later or before.</summary>
    private static readonly byte[] WithEntry = Http3Bytes.Frame(Http3Bytes.HeadersType, Section(required: 1, 0x80));

    private static readonly byte[] Entries = [.. QpackFields.Capacity(4096), .. QpackFields.Insert(":path", Small)];

    [Fact]
    [Trait("Rfc", "9204-3.2")]
    public async Task Entries_of_the_table_are_used_and_acknowledged()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync(Entries);
        for (int i = 0; i < 3; i++)
        {
            Http3TestStream stream = await client.SendAsync(WithEntry);
            AssertIsWhole(await stream.ReadResponseAsync(), 1000);
        }
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public async Task A_request_waits_for_the_entries_that_it_needs()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream[] streams = new Http3TestStream[16];
        for (int i = 0; i < streams.Length; i++)
        {
            streams[i] = await client.SendAsync(WithEntry, isEnd: i % 2 == 0);
        }

        await AssertServesAsync(client);
        foreach (byte one in Entries)
        {
            await client.Encoder!.WriteAsync(new[] { one });
            await client.InspectAsync(static quic => quic.Streams.Count);
        }

        foreach (Http3TestStream stream in streams)
        {
            AssertIsWhole(await stream.ReadResponseAsync(), 1000);
        }
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public async Task So_does_one_that_comes_in_pieces()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.OpenAsync();
        foreach (byte one in WithEntry)
        {
            await stream.WriteAsync(new[] { one });
            await client.InspectAsync(static quic => quic.Streams.Count);
        }

        await AssertServesAsync(client);
        await client.Encoder!.WriteAsync(Entries);
        AssertIsWhole(await stream.ReadResponseAsync(), 1000);
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public async Task No_more_requests_may_wait_than_the_server_has_said()
    {
        Http3TestConnection client = await OpenAsync();
        for (int i = 0; i < 17; i++)
        {
            await client.SendAsync(WithEntry);
        }

        await AssertFailsAsync(client, Http3Codes.DecompressionFailed);
    }

    [Fact]
    [Trait("Rfc", "9204-2.2.2.2")]
    public async Task A_request_that_waits_may_be_given_up()
    {
        Http3TestConnection client = await OpenAsync();
        for (int i = 0; i < 50; i++)
        {
            Http3TestStream stream = await client.SendAsync(WithEntry, isEnd: false);
            await AssertServesAsync(client);
            stream.Abort();
            stream.StopSending();
            await stream.Closed;
        }

        await client.Encoder!.WriteAsync(Entries);
        AssertIsWhole(await (await client.SendAsync(WithEntry)).ReadResponseAsync(), 1000);
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public async Task Requests_that_were_given_up_do_not_count_among_those_that_wait()
    {
        Http3TestConnection client = await OpenAsync();
        (Http3TestStream[] first, Http3TestStream[] second) = (new Http3TestStream[16], new Http3TestStream[16]);
        for (int i = 0; i < first.Length; i++)
        {
            first[i] = await client.SendAsync(WithEntry, isEnd: false);
            second[i] = await client.OpenAsync();
        }

        await AssertServesAsync(client);
        client.Post(() =>
        {
            for (int i = 0; i < first.Length; i++)
            {
                first[i].Abort();
                second[i].Write(WithEntry);
            }
        });
        await client.InspectAsync(static quic => quic.Streams.Count);
        await client.Encoder!.WriteAsync(Entries);
        foreach (Http3TestStream stream in second)
        {
            AssertIsWhole(await stream.ReadResponseAsync(), 1000);
        }
    }

    [Fact]
    public async Task A_request_that_waits_for_too_long_is_given_up()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { Head = TimeSpan.FromMilliseconds(400) });
        await AssertResetsAsync(await client.SendAsync(WithEntry), Http3Codes.RequestCancelled);
        await client.Encoder!.WriteAsync(Entries);
        AssertIsWhole(await (await client.SendAsync(WithEntry)).ReadResponseAsync(), 1000);
    }

    [Fact]
    [Trait("Rfc", "9204-2.2.1")]
    public async Task Trailers_may_wait_too()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] trailers = Http3Bytes.Frame(Http3Bytes.HeadersType, [.. Prefix(1), 0x80]);
        Http3TestStream stream = await client.SendAsync((byte[])[.. Http3Bytes.Request("POST", "/none"), .. Http3Bytes.Data(1), .. trailers]);
        Assert.Equal("405", (await stream.ReadResponseAsync()).Status);
        await AssertServesAsync(client);
        await client.Encoder!.WriteAsync((byte[])[.. QpackFields.Capacity(4096), .. QpackFields.Insert("a", "b")]);
        await stream.Closed;
    }

    [Theory]
    [Trait("Rfc", "9204-2.2.3")]
    [InlineData(1, 0x81)]
    [InlineData(1, 0xFF)]
    public async Task A_reference_to_nothing_ends_the_connection(int required, byte reference)
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync(Entries);
        await client.SendAsync(Http3Bytes.Frame(Http3Bytes.HeadersType, Section(required, reference)));
        await AssertFailsAsync(client, Http3Codes.DecompressionFailed);
    }

    [Fact]
    [Trait("Rfc", "9204-3.2.3")]
    public async Task A_table_larger_than_allowed_ends_the_connection()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync(QpackFields.Capacity(4097));
        await AssertFailsAsync(client, Http3Codes.EncoderStreamError);
    }

    [Fact]
    [Trait("Rfc", "9204-3.2.2")]
    public async Task So_does_an_entry_larger_than_the_table()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync((byte[])[.. QpackFields.Capacity(100), .. QpackFields.Insert("a", new string('b', 100))]);
        await AssertFailsAsync(client, Http3Codes.EncoderStreamError);
    }

    [Fact]
    [Trait("Rfc", "9204-4.4.1")]
    public async Task What_was_not_sent_cannot_be_acknowledged()
    {
        Http3TestConnection client = await OpenAsync(options: new Http3TestOptions { OpensStreams = false });
        await client.SendAsync((byte[])[.. Http3Bytes.Number(Http3Bytes.DecoderStream), 0x80], isEnd: false, isBidirectional: false);
        await AssertFailsAsync(client, Http3Codes.DecoderStreamError);
    }

    [Fact]
    public async Task A_client_may_replace_its_entries_again_and_again()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync(QpackFields.Capacity(200));
        for (int i = 0; i < 300; i++)
        {
            await client.Encoder.WriteAsync(QpackFields.Insert("x-number", $"{i}"));
            await AssertServesAsync(client);
        }
    }

    private static byte[] Section(int required, params byte[] path) =>
        [.. Prefix(required), .. QpackFields.Section((":method", "GET"), (":scheme", "https"), (":authority", "localhost"))[2..], .. path];

    /// <summary>So many insertions are needed, and references count back from there; the table has room for 128 entries.</summary>
    private static byte[] Prefix(int required) => [(byte)(required + 1), 0];
}
