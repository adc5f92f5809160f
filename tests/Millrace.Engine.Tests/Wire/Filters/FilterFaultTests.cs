using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Engine.Tests.Wire.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Wire.Filters;

/// <summary>A filter that throws ends its connection with a reset, whatever it was doing; the reactor and the others go on.</summary>
public class FilterFaultTests : EngineTest
{
    internal enum Fault
    {
        InReceive,
        InEncode,
        InEncodeEnd,
        InReceiveEnded,
        InRelease,
    }

    [Theory]
    [InlineData("InReceive")]
    [InlineData("InEncode")]
    [InlineData("InEncodeEnd")]
    [InlineData("InReceiveEnded")]
    public async Task Its_connection_is_reset_and_the_others_live(string fault)
    {
        int made = 0;
        TestServer server = await Serve(
            Handlers.Echo,
            filters: _ => [new PlainFilter(), new FaultyFilter(++made == 2 ? Enum.Parse<Fault>(fault) : null)]);
        TestClient bystander = await server.Connect();
        await bystander.Exchange([1]);
        TestClient client = await server.Connect();
        await client.Send(new byte[] { 7 });
        if (fault is "InEncodeEnd" or "InReceiveEnded")
        {
            Assert.Equal([7], await client.Receive(1));
            client.Finish();
        }

        await client.ExpectReset();
        await Eventually(() => server.Connections == 1);
        Assert.Equal([2], await bystander.Exchange([2]));
        Assert.Single(Log.Of(301));
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task One_that_fails_as_it_is_released_keeps_no_slot()
    {
        TestServer server = await Serve(Handlers.Echo, filters: static _ => [new FaultyFilter(Fault.InRelease), new PlainFilter()]);
        TestClient client = await server.Connect();
        await client.Exchange([1]);
        client.Finish();
        Assert.Empty(await client.ReceiveToEnd());
        await server.Emptied();
        Assert.Single(Log.Of(301));
    }

    private sealed class FaultyFilter(Fault? fault) : PlainFilter
    {
        public override void Receive(ReadOnlySpan<byte> bytes)
        {
            FailIf(Fault.InReceive);
            base.Receive(bytes);
        }

        public override ReceiveEnd ReceiveEnded(ReceiveEnd end)
        {
            FailIf(end == ReceiveEnd.Finished ? Fault.InReceiveEnded : null);
            return base.ReceiveEnded(end);
        }

        public override void Encode(OutputBatch plain, OutputBatch encoded)
        {
            base.Encode(plain, encoded);
            FailIf(Fault.InEncode);
        }

        public override void EncodeEnd(OutputBatch encoded) => FailIf(Fault.InEncodeEnd);

        public override void Release() => FailIf(Fault.InRelease);

        private void FailIf(Fault? point)
        {
            if (point is not null && point == fault)
            {
                throw new InvalidDataException("planted");
            }
        }
    }

    private class PlainFilter : ConnectionFilter
    {
        public override void Receive(ReadOnlySpan<byte> bytes) => PassIn(bytes);

        public override unsafe void Encode(OutputBatch plain, OutputBatch encoded)
        {
            foreach (ref readonly IoVector part in plain.Parts)
            {
                encoded.Write(new ReadOnlySpan<byte>(part.Address, (int)part.Bytes));
            }
        }
    }
}
