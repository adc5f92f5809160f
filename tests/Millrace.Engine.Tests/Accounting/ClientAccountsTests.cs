using Millrace.Engine.Accounting;
using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Accounting;

/// <summary>What each client holds, and which client holds the most.</summary>
public class ClientAccountsTests
{
    private const long Most = 64 * 1024;

    [Fact]
    public void The_largest_holder_is_found_with_the_one_after()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        for (ulong client = 1; client <= 5; client++)
        {
            ClientAccount account = accounts.Open(new ClientAddress(client));
            account.Bytes = (long)((client * 7) % 5) * 100;
        }

        Assert.Equal(2UL, accounts.LargestByBytes(out long second).Client);
        Assert.Equal(300, second);
    }

    [Fact]
    public void The_largest_holder_of_descriptors_is_found_by_connections_and_files()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        _ = accounts.Open(new ClientAddress(1));
        _ = accounts.Open(new ClientAddress(1));
        ClientAccount other = accounts.Open(new ClientAddress(2));
        Assert.Equal(1UL, accounts.LargestByDescriptors().Client);
        other.OpenFiles = 2;
        Assert.Equal(2UL, accounts.LargestByDescriptors().Client);
    }

    [Fact]
    public void An_account_is_one_for_all_connections_of_a_client_and_ends_with_the_last()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        ClientAccount first = accounts.Open(new ClientAddress(1));
        Assert.Same(first, accounts.Open(new ClientAddress(1)));
        Assert.NotSame(first, accounts.Open(new ClientAddress(2)));
        Assert.Equal(2, accounts.Clients);
        accounts.Close(first);
        Assert.Equal(2, accounts.Clients);
        accounts.Close(first);
        Assert.Equal(1, accounts.Clients);
    }

    [Fact]
    public void While_memory_is_short_only_who_holds_much_is_refused()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        ClientAccount greedy = accounts.Open(new ClientAddress(1));
        ClientAccount modest = accounts.Open(new ClientAddress(2));
        (greedy.Bytes, modest.Bytes) = (Most / 2, Most / 64);
        accounts.ChargeState(Most / 4 * 3);
        Assert.False(accounts.IsShort);
        Assert.False(accounts.IsToRefuse(greedy));
        accounts.ChargeState(1);
        Assert.True(accounts.IsShort);
        Assert.True(accounts.IsToRefuse(greedy));
        Assert.False(accounts.IsToRefuse(modest));

        // More than a small part, and less than the average.
        modest.Bytes = Most / 16;
        Assert.False(accounts.IsToRefuse(modest));
        modest.Bytes = Most / 2;
        Assert.True(accounts.IsToRefuse(modest));
    }

    [Fact]
    public void Connections_that_were_made_here_are_no_clients()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        ClientAccount outbound = ClientAccounts.Enter(accounts.Outbound);
        (outbound.Bytes, outbound.Connections) = (Most, 50);
        ClientAccount client = accounts.Open(new ClientAddress(1));
        client.Bytes = 1;
        Assert.Same(client, accounts.LargestByBytes(out _));
        Assert.Same(client, accounts.LargestByDescriptors());
    }

    [Fact]
    public void Blocks_and_state_count_together_and_what_ends_already_does_not()
    {
        using var pools = new BlockPools();
        var accounts = new ClientAccounts(pools, Most);
        accounts.ChargeState(Most - 100);
        Block block = pools.Rent(4096);
        Assert.Equal(4096 - 100, accounts.ExcessBytes);
        ClientAccounts.Enter(accounts.Ending).Bytes += 4096;
        Assert.Equal(-100, accounts.ExcessBytes);
        pools.Return(block);
    }

    [Theory]
    [InlineData(512, 479, false)]
    [InlineData(512, 480, true)]
    [InlineData(64, 59, false)]
    [InlineData(64, 60, true)]
    [InlineData(1_000_000, 999_743, false)]
    [InlineData(1_000_000, 999_744, true)]
    public void The_last_descriptors_are_told_by_their_number(int limit, int descriptor, bool isReserved) =>
        Assert.Equal(isReserved, new DescriptorReserve(limit).IsReserved(descriptor));

    [Fact]
    public void Many_files_are_one_clients_only_while_descriptors_are_plenty()
    {
        var reserve = new DescriptorReserve(512);
        Assert.True(reserve.MayOpen(descriptor: 255, openFiles: 200));
        Assert.False(reserve.MayOpen(descriptor: 256, openFiles: 32));
        Assert.True(reserve.MayOpen(descriptor: 256, openFiles: 31));
        Assert.False(reserve.MayOpen(descriptor: 480, openFiles: 0));
    }

    [Fact]
    public void Of_the_last_descriptors_half_are_for_clients_with_few_connections()
    {
        var reserve = new DescriptorReserve(512);
        Assert.True(reserve.MayKeep(descriptor: 495, connections: 400));
        Assert.False(reserve.MayKeep(descriptor: 496, connections: 3));
        Assert.True(reserve.MayKeep(descriptor: 511, connections: 2));
    }
}
