using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Two endpoints, as their applications see them.</summary>
public sealed class ConnectionTests
{
    private static readonly byte[] Hello = "hello"u8.ToArray();

    [Fact]
    [Trait("Rfc", "9001-4.1.2")]
    public void A_handshake_is_complete_and_confirmed_on_both_sides()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Run(100);
        Assert.True(pair.ClientHandler.IsComplete);
        Assert.True(pair.ServerHandler.IsComplete);
        Assert.True(pair.ClientConnection!.Handshake.IsConfirmed);
        Assert.True(pair.ServerConnection!.Handshake.IsConfirmed);
        Assert.Equal("h3"u8, pair.ServerConnection.Handshake.ApplicationProtocol);
    }

    [Fact]
    [Trait("Rfc", "9369-3")]
    public void A_handshake_of_version_2_is_complete()
    {
        using QuicPair pair = new();
        pair.Connect(version: QuicVersion.Version2);
        pair.Run(100);
        Assert.True(pair.ClientHandler.IsComplete);
        Assert.Equal(QuicVersion.Version2, pair.ServerConnection!.Version);
    }

    [Fact]
    public void Bytes_of_a_stream_come_back()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ServerHandler.Echoes = true;
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(Hello);
        stream.Finish();
        pair.Run(100);
        Assert.Equal(Hello, pair.ServerHandler.Received);
        Assert.Equal(Hello, pair.ClientHandler.Received);
        Assert.Contains(pair.ClientHandler.Events, static e => (e.Events & StreamEvents.Closed) != 0);
    }

    [Fact]
    [Trait("Rfc", "9000-10.2")]
    public void A_close_arrives_with_its_code_and_nothing_is_left()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ClientConnection!.Close(0x1234, "bye", pair.Now);
        pair.Run(5_000);
        Assert.Equal(new CloseReason(CloseSource.Peer, true, 0x1234, 0, "bye"), pair.ServerHandler.Reason);
        Assert.Equal(CloseSource.Local, pair.ClientHandler.Reason!.Value.Source);
        Assert.Empty(pair.Server.Connections);
        Assert.Empty(pair.Client.Connections);
        Assert.Equal(0, pair.Server.Routes + pair.Client.Routes);
        Assert.Equal(0, pair.ServerBlocks.LentBlocks + pair.ClientBlocks.LentBlocks);
        Assert.Equal(0, pair.ServerCryptography.Protectors.Live + pair.ClientCryptography.Protectors.Live);
    }

    [Fact]
    [Trait("Rfc", "9000-10.1")]
    public void A_silent_connection_ends_at_the_shorter_idle_timeout()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Run(29_000);
        Assert.Null(pair.ClientHandler.Reason);
        pair.Run(2_000);
        Assert.Equal(CloseSource.Timeout, pair.ClientHandler.Reason!.Value.Source);
        Assert.Equal(CloseSource.Timeout, pair.ServerHandler.Reason!.Value.Source);
        Assert.Empty(pair.Server.Connections);
    }

    [Fact]
    [Trait("Rfc", "9000-10.1.2")]
    public void A_connection_that_is_kept_alive_stays()
    {
        using QuicPair pair = QuicPair.Connected(QuicSettings.Default with { KeepAlive = 10_000 * QuicPair.Millisecond });
        pair.Run(120_000);
        Assert.Null(pair.ClientHandler.Reason);
        Assert.Null(pair.ServerHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9001-4.8")]
    public void A_failed_handshake_ends_with_the_alert()
    {
        using QuicPair pair = new() { FailWith = 40 };
        pair.Connect();
        pair.Run(1_000);
        Assert.Equal(CloseSource.LocalError, pair.ServerHandler.Reason!.Value.Source);
        Assert.Equal(0x128, pair.ServerHandler.Reason!.Value.Code);
        Assert.Equal(CloseSource.Peer, pair.ClientHandler.Reason!.Value.Source);
        Assert.Equal(0x128, pair.ClientHandler.Reason!.Value.Code);
    }

    [Fact]
    [Trait("Rfc", "9000-14.1")]
    public void All_datagrams_with_an_initial_packet_have_1200_bytes()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Run(100);
        Assert.Contains(pair.Sent, static sent => sent.FromClient);
        Assert.All(pair.Sent.Where(static sent => sent.FromClient && (sent.Bytes[0] & 0xF0) == 0xC0), static sent => Assert.Equal(1200, sent.Bytes.Length));
    }

    [Fact]
    [Trait("Rfc", "9001-6")]
    public void Keys_are_updated_by_either_side_and_data_goes_on()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ServerHandler.Echoes = true;
        for (int i = 0; i < 6; i++)
        {
            QuicConnection updater = i % 2 == 0 ? pair.ClientConnection! : pair.ServerConnection!;
            Assert.True(updater.TryUpdateKeys(), $"update {i}");
            for (int j = 0; j < 2; j++)
            {
                // An end may update when the peer has acknowledged its current keys: so each of them sends after the other has.
                Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
                stream!.Write(Hello);
                stream.Finish();
                pair.Run(1_000);
            }

            Assert.Equal(i + 1, pair.ClientConnection!.Keys.Updates);
            Assert.Equal(i + 1, pair.ServerConnection!.Keys.Updates);
        }

        Assert.Null(pair.ClientHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-14.3")]
    public void Datagrams_grow_to_what_the_path_carries()
    {
        using QuicPair pair = new(QuicSettings.Default with { MaximumDatagramSize = 1500 }) { Drops = static (_, bytes) => bytes.Length > 1400 };
        pair.Connect();
        pair.Run(20_000);
        Assert.InRange(pair.ClientConnection!.Paths.Active.Mtu.Size, 1380, 1400);
        Assert.InRange(pair.ServerConnection!.Paths.Active.Mtu.Size, 1380, 1400);
    }

    [Fact]
    [Trait("Rfc", "9000-9.3")]
    public void A_client_whose_address_changes_is_followed_after_its_path_is_validated()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ServerHandler.Echoes = true;
        pair.ClientSource = PathAddress.FromIPv4(0x0A000099, 6000);
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(Hello);
        stream.Finish();
        pair.Run(100);
        Assert.Equal(pair.ClientSource, pair.ServerConnection!.Paths.Active.Remote);
        Assert.True(pair.ServerConnection.Paths.Active.IsValidated);
        Assert.Equal(Hello, pair.ClientHandler.Received);
    }

    [Fact]
    [Trait("Rfc", "9000-9.2")]
    public void A_client_moves_to_another_of_its_addresses()
    {
        using QuicPair pair = QuicPair.Connected();
        PathAddress second = PathAddress.FromIPv4(0x0A000055, 7000);
        Assert.True(pair.ClientConnection!.TryMigrate(second, pair.Now));
        pair.Run(100);
        Assert.Equal(second, pair.ClientConnection.Paths.Active.Local);
        Assert.True(pair.ClientConnection.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(Hello);
        stream.Finish();
        pair.Run(100);
        Assert.Equal(second, pair.ServerConnection!.Paths.Active.Remote);
        Assert.Equal(Hello, pair.ServerHandler.Received);
    }

    [Fact]
    public void Sending_and_receiving_allocates_nothing_in_steady_state()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ServerHandler.Discards = true;
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: false, out QuicStream? stream));
        SteadyState state = new(pair, stream!);
        for (int i = 0; i < 200; i++)
        {
            state.Round();
        }

        Assert.Equal(0, Allocations.OfEach(state.Round));
        Assert.True(pair.ServerHandler.Count > 100_000);
    }

    /// <summary>Bytes from the client to the server and acknowledgements back, without the pair's own lists.</summary>
    private sealed class SteadyState(QuicPair pair, QuicStream stream)
    {
        private readonly byte[] _data = new byte[1_000];
        private readonly byte[] _buffer = new byte[64 * 1024];
        private readonly byte[] _reply = new byte[EndpointReplies.MaximumLength];

        public void Round()
        {
            for (int i = 0; i < 10; i++)
            {
                stream.Write(_data);
                pair.Now += QuicPair.Millisecond;
                Exchange(pair.ClientConnection!, pair.Server);
                pair.Now += 30 * QuicPair.Millisecond;
                pair.ServerConnection!.OnTimeout(pair.Now);
                Exchange(pair.ServerConnection, pair.Client);
            }
        }

        private void Exchange(QuicConnection sender, QuicEndpoint receiver)
        {
            while (true)
            {
                int length = sender.Send(_buffer, 8, out DatagramInfo info, pair.Now);
                if (length == 0)
                {
                    return;
                }

                for (int offset = 0; offset < length; offset += info.SegmentSize)
                {
                    Span<byte> datagram = _buffer.AsSpan(offset, Math.Min(info.SegmentSize, length - offset));
                    receiver.Receive(datagram, info.Local, info.Remote, info.Ecn, _reply, out _, pair.Now);
                }
            }
        }
    }
}
