using System.Net.Security;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Records;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Records that bring nothing, and cost something: how many of them are too many.</summary>
public class IdleRecordTests : TlsTest
{
    private const int SessionFailed = 601;
    private const int FilterFailed = 301;

    private Client _client = null!;
    private SslStream _stream = null!;

    [Fact]
    public async Task Updates_of_keys_now_and_then_do_no_harm()
    {
        using HandMadeRecords records = await BeginAsync(Handlers.EchoAsync);
        await _client.SendAsync(Repeat(EmptyRecordLimiter.Most - 1, records.UpdateKeys));
        await _client.SendAsync(records.Seal(HandMadeRecords.Data, 7));

        Assert.Equal([7], await ReceiveAsync(_stream, 1));
        Assert.Equal(0, Log.Count(SessionFailed));
        await EndAsync();
    }

    [Fact]
    public async Task Updates_of_keys_without_end_are_too_much()
    {
        using HandMadeRecords records = await BeginAsync(Handlers.EchoAsync);
        await AssertFailsAsync(Repeat(5 * EmptyRecordLimiter.Most, records.UpdateKeys));
    }

    [Fact]
    public async Task Empty_records_between_others_are_too_much()
    {
        using HandMadeRecords records = await BeginAsync(Handlers.EchoAsync);
        await AssertFailsAsync(Repeat(
            5 * EmptyRecordLimiter.Most,
            () => [.. records.Seal(HandMadeRecords.Data), .. records.Seal(HandMadeRecords.Data, 7)]));
    }

    [Fact]
    public async Task Records_that_bring_a_byte_each_are_as_many_as_a_client_likes()
    {
        using HandMadeRecords records = await BeginAsync(Handlers.EchoAsync);
        Task sent = _client.SendAsync(Repeat(20 * EmptyRecordLimiter.Most, () => records.Seal(HandMadeRecords.Data, 7)));

        Assert.All(await ReceiveAsync(_stream, 20 * EmptyRecordLimiter.Most), static one => Assert.Equal(7, one));
        await sent;
        await EndAsync();
    }

    [Fact]
    public async Task Who_sends_half_an_update_of_keys_before_an_answer_loses_the_connection_and_no_operator_hears_of_it()
    {
        using HandMadeRecords records = await BeginAsync(Handlers.EchoAsync);

        // The echo is written when both were read, and OpenSSL does not write within a message that it reads.
        await AssertFailsAsync([
            .. records.Seal(HandMadeRecords.Data, 7),
            .. records.Seal(HandMadeRecords.Handshake, HandMadeRecords.KeyUpdate.AsSpan(0, 4))]);
    }

    [Fact]
    public void Records_without_data_are_allowed_again_with_time()
    {
        var idle = new TokenBucket(EmptyRecordLimiter.Most, EmptyRecordLimiter.PerSecond);
        Assert.True(idle.TrySpend(EmptyRecordLimiter.Most, 1_000));
        Assert.False(idle.TrySpend(1, 1_000));
        idle = new TokenBucket(EmptyRecordLimiter.Most, EmptyRecordLimiter.PerSecond);
        Assert.True(idle.TrySpend(EmptyRecordLimiter.Most, 1_000));
        Assert.True(idle.TrySpend(EmptyRecordLimiter.PerSecond, 2_000));
        Assert.False(idle.TrySpend(1, 2_000));
        idle = new TokenBucket(EmptyRecordLimiter.Most, EmptyRecordLimiter.PerSecond);
        Assert.True(idle.TrySpend(1, 1_000));
        Assert.False(idle.TrySpend(EmptyRecordLimiter.Most + 1, 1_000_000));
    }

    private static byte[] Repeat(int count, Func<byte[]> make) => [.. Enumerable.Range(0, count).SelectMany(_ => make())];

    private async Task<HandMadeRecords> BeginAsync(ConnectionHandler handler)
    {
        string file = Pem.PathOf("keys.log");
        Listener listener = await ServeTlsAsync(handler, TlsOptions() with { KeyLogFile = file });
        _client = await ConnectAsync(listener);
        _stream = Keep(new SslStream(new System.Net.Sockets.NetworkStream(_client.Socket)));
        await _stream.AuthenticateAsClientAsync(Trusting()).Within();
        Assert.Equal(TlsCipherSuite.TLS_AES_128_GCM_SHA256, _stream.NegotiatedCipherSuite);
        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesDone == 1, "the handshake is done on both sides");
        return HandMadeRecords.Of(file);
    }

    /// <summary>Asserts that these bytes are the connection's end, and that this is logged as what peers do.</summary>
    private async Task AssertFailsAsync(byte[] bytes)
    {
        try
        {
            await _client.SendAsync(bytes);
            await _client.ReceiveToEndAsync();
        }
        catch (System.Net.Sockets.SocketException)
        {
            // A reset, where bytes crossed the end.
        }

        await Waiting.UntilAsync(() => Log.Count(SessionFailed) == 1, "the end is logged");
        Assert.Equal(0, Log.Count(FilterFailed));
        await EndAsync();
    }

    /// <summary>The file of secrets is closed with its terminator.</summary>
    private async Task EndAsync()
    {
        _stream.Dispose();
        _client.Dispose();
        await Group.StopAsync(TimeSpan.FromSeconds(5)).Within();
        Terminator.Dispose();
    }
}
