using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Backends;

/// <summary>What a token says is what it was told, and a table believes only the present generation.</summary>
public class OperationTokenTests
{
    [Theory]
    [InlineData(0u, 0)]
    [InlineData(1u, 1)]
    [InlineData(0xFF_FFFFu, int.MaxValue)]
    [InlineData(0x12_3456u, 65_535)]
    public void A_token_keeps_kind_generation_and_slot_apart(uint generation, int slot)
    {
        foreach (OperationKind kind in Enum.GetValues<OperationKind>())
        {
            var token = new OperationToken(kind, generation, slot);
            Assert.Equal((kind, generation, slot), (token.Kind, token.Generation, token.Slot));
        }
    }

    [Fact]
    public void A_generation_wraps_without_touching_the_kind()
    {
        var token = new OperationToken(OperationKind.Send, 0x100_0000, 5);
        Assert.Equal((OperationKind.Send, 0u, 5), (token.Kind, token.Generation, token.Slot));
    }

    [Fact]
    public async Task A_tables_slots_are_used_again()
    {
        await using Script script = await Script.StartAsync();
        var table = new ConnectionTable(script.Reactor);
        Connection first = table.Rent();
        Connection second = table.Rent();
        Assert.Same(second, table.Find(new OperationToken(OperationKind.Send, 0, second.Slot)));
        Assert.Null(table.Find(new OperationToken(OperationKind.Send, 1, second.Slot)));
        table.Return(first);
        Assert.Equal(1, table.Count);
        Connection third = table.Rent();
        Assert.Same(first, third);
        table.Return(second);
        table.Return(third);
    }

    [Fact]
    public async Task Each_tenant_has_a_generation_of_its_own()
    {
        await using Script script = await Script.StartAsync();
        var seen = new HashSet<uint>();
        for (int socket = 1; socket <= 50; socket++)
        {
            Submission receive = await script.ConnectAsync(socket, static _ => Task.CompletedTask);
            Assert.True(seen.Add(receive.Token.Generation));
            Assert.Equal(0, receive.Token.Slot);
            await script.Kernel.ExpectAsync("shutdown");
            script.Kernel.Complete(receive, 0);
            await script.ExpectClosedAsync(socket);
        }

    }
}
