using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Tests.Unit;

/// <summary>The table alone: its reactor is never started, its connections are never opened.</summary>
public class ConnectionTableTests
{
    [Fact]
    public void A_slot_that_was_returned_is_not_counted_and_used_again()
    {
        ConnectionTable table = NewTable();
        Connection[] rented = [Rent(table), Rent(table), Rent(table)];
        Assert.Equal(3, table.Count);

        table.Return(rented[1]);
        Assert.Equal(2, table.Count);
        Assert.Same(rented[1], Rent(table));
    }

    [Fact]
    public void Slots_are_numbered_from_zero_and_stay_their_connections()
    {
        ConnectionTable table = NewTable();
        Connection[] rented = [.. Enumerable.Range(0, 100).Select(_ => Rent(table))];

        Assert.Equal(Enumerable.Range(0, 100), rented.Select(connection => connection.Slot));
        Assert.All(rented, connection => Assert.Same(connection, table.At(connection.Slot)));
    }

    [Fact]
    public void The_slot_last_freed_is_the_first_used()
    {
        ConnectionTable table = NewTable();
        Connection[] rented = [Rent(table), Rent(table), Rent(table)];
        table.Return(rented[0]);
        table.Return(rented[2]);

        Assert.Same(rented[2], Rent(table));
        Assert.Same(rented[0], Rent(table));
        Assert.Equal(3, Rent(table).Slot);
    }

    [Fact]
    public void A_token_of_another_generation_finds_nobody()
    {
        ConnectionTable table = NewTable();
        _ = Rent(table);
        Connection second = Rent(table);

        Assert.Same(second, table.Find(new OperationToken(OperationKind.Send, second.Generation, second.Slot)));
        Assert.Null(table.Find(new OperationToken(OperationKind.Send, second.Generation + 1, second.Slot)));
        Assert.Null(table.Find(new OperationToken(OperationKind.Send, second.Generation - 1, second.Slot)));
    }

    [Fact]
    public void Connections_that_were_never_opened_are_not_in_use()
    {
        ConnectionTable table = NewTable();
        _ = Rent(table);

        Assert.Empty(table.InUse());
    }

    private static ConnectionTable NewTable()
    {
        var reactor = new Reactor(
            0, new Limits(), new EngineLog(NullLogger.Instance), () => throw new InvalidOperationException("The reactor was started."));
        return new ConnectionTable(reactor);
    }

    private static Connection Rent(ConnectionTable table) => table.Rent();
}
