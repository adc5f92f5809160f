using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Engine.Tests.Wire.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Wire.Filters;

public class FilterTests : EngineTest
{
    private const byte Key = 0x5A;
    private const int PrefaceBytes = 10;

    [Fact]
    public async Task Chained_filters_rewrite_both_ways_and_have_the_last_word()
    {
        TestServer server = await Serve(Handlers.Echo, filters: static _ => [new Preface(), new Mask()]);
        TestClient client = await server.Connect();
        byte[] plain = Pattern.Bytes(1, 300_000);
        Task<byte[]> response = client.ReceiveToEnd();
        await client.Send(new byte[3]);
        await client.Send(new byte[PrefaceBytes - 3]);
        await client.Send(Masked(plain));
        client.Finish();
        byte[] expected = [.. Masked([.. plain, (byte)'!']), (byte)'.'];
        Assert.Equal(expected, await response);
        await server.Emptied();
    }

    [Fact]
    public async Task The_last_word_comes_also_without_output_of_the_handler()
    {
        TestServer server = await Serve(static _ => Task.CompletedTask, filters: static _ => [new Preface(), new Mask()]);
        TestClient client = await server.Connect();
        byte[] expected = [.. Masked("!"u8.ToArray()), (byte)'.'];
        Assert.Equal(expected, await client.ReceiveToEnd());
        client.Dispose();
        await server.Emptied();
    }

    private static byte[] Masked(byte[] bytes) => [.. bytes.Select(static one => (byte)(one ^ Key))];

    /// <summary>Eats the first bytes; what it writes last is in clear.</summary>
    private sealed class Preface : ConnectionFilter
    {
        private int _left = PrefaceBytes;

        public override void Receive(ReadOnlySpan<byte> bytes)
        {
            int eaten = Math.Min(_left, bytes.Length);
            _left -= eaten;
            PassIn(bytes[eaten..]);
        }

        public override void Encode(OutputBatch plain, OutputBatch encoded) => Rewrite(plain, encoded, 0);

        public override void EncodeEnd(OutputBatch encoded) => encoded.Write("."u8);
    }

    private sealed class Mask : ConnectionFilter
    {
        public override void Receive(ReadOnlySpan<byte> bytes)
        {
            // In two pieces, as a record layer would.
            byte[] plain = Masked(bytes.ToArray());
            PassIn(plain.AsSpan(0, plain.Length / 2));
            PassIn(plain.AsSpan(plain.Length / 2));
        }

        public override void Encode(OutputBatch plain, OutputBatch encoded) => Rewrite(plain, encoded, Key);

        public override void EncodeEnd(OutputBatch encoded) => encoded.Write([(byte)('!' ^ Key)]);
    }

    private static unsafe void Rewrite(OutputBatch plain, OutputBatch encoded, byte key)
    {
        foreach (ref readonly IoVector part in plain.Parts)
        {
            byte[] bytes = new ReadOnlySpan<byte>(part.Address, (int)part.Bytes).ToArray();
            encoded.Write([.. bytes.Select(one => (byte)(one ^ key))]);
        }
    }
}
