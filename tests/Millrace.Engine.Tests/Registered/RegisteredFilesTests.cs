using System.Net.Sockets;
using Millrace.Engine.Backends.Uring;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Engine.Tests.Registered;

/// <summary>The table of files that a ring has its sockets in: who is in it, for how long, and what is done without room in it.</summary>
[Trait("Backend", "io_uring")]
public class RegisteredFilesTests : EngineTest
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_connection_is_in_it_from_its_first_operation_until_it_is_closed(bool isPolled)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Of(isPolled));
        Client[] clients = [await ConnectAsync(listener), await ConnectAsync(listener), await ConnectAsync(listener)];
        await RingTables.HoldAsync(3);
        clients[1].EndSending();
        Assert.Empty(await clients[1].ReceiveToEndAsync());
        await RingTables.HoldAsync(2);
        clients[0].Reset();
        await RingTables.HoldAsync(1);
        await AssertEchoesAsync(clients[2]);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task What_is_closed_ends_for_its_peer_although_older_connections_wait(bool isPolled)
    {
        Listener listener = await ServeAsync(EndAsToldAsync, Of(isPolled));
        Client older = await ConnectAsync(listener);
        await AssertEchoesAsync(older);
        for (int round = 0; round < 3; round++)
        {
            Client finished = await ConnectAsync(listener);
            await finished.SendAsync("f");
            Assert.Empty(await finished.ReceiveToEndAsync());
            Client reset = await ConnectAsync(listener);
            await reset.SendAsync("r");
            await reset.ExpectResetAsync();
        }

        await AssertEchoesAsync(older);
        await RingTables.HoldAsync(1);
    }

    [Fact]
    public async Task Twenty_thousand_connections_give_all_their_slots_back()
    {
        const int AtATime = 50;
        const int Connections = 20_000;
        using var folder = new TemporaryFolder();
        Listener listener = await ServeAsync(
            Handlers.EchoAsync,
            Options().Registered() with { RegisteredFilesMost = AtATime },
            new UnixDomainSocketEndPoint(folder.File("s")));

        await Task.WhenAll(Enumerable.Range(0, AtATime).Select(async first =>
        {
            for (int id = first; id < Connections; id += AtATime)
            {
                await ConverseAsync(listener, id);
            }
        }));

        await RingTables.HoldAsync(0);
        for (int i = 0; i < AtATime; i++)
        {
            await AssertEchoesAsync(await ConnectAsync(listener));
        }

        await RingTables.HoldAsync(AtATime);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Who_finds_it_full_goes_by_the_descriptor_until_there_is_room(bool isPolled)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Of(isPolled) with { RegisteredFilesMost = 2 });
        Client[] first = [await ConnectAsync(listener), await ConnectAsync(listener)];
        await RingTables.HoldAsync(2);
        Client[] later = [await ConnectAsync(listener), await ConnectAsync(listener), await ConnectAsync(listener)];
        await Client.EchoTogetherAsync(listener, connections: 50, bytes: 20_000);
        foreach (Client client in (Client[])[.. first, .. later])
        {
            await AssertEchoesAsync(client);
        }

        await RingTables.HoldAsync(2);
        first[0].Reset();
        first[1].Reset();
        await RingTables.HoldAsync(0);
        foreach (Client client in later)
        {
            await AssertEchoesAsync(client);
        }

        await RingTables.HoldAsync(2);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_stop_resets_what_is_open_and_leaves_no_table(bool isPolled)
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Of(isPolled) with { Reactors = 2 });
        Client[] clients = [await ConnectAsync(listener), await ConnectAsync(listener), await ConnectAsync(listener)];
        await RingTables.HoldAsync(3);
        await Group.StopAsync(TimeSpan.Zero).Within();
        foreach (Client client in clients)
        {
            await client.ExpectResetAsync();
        }

        await RingTables.HoldAsync(0);
    }

    [Fact]
    public async Task There_is_room_for_all_connections_and_refusals_but_not_for_more_than_descriptors()
    {
        EngineOptions options = Options(new Limits { Connections = 100, Refusals = 10 }).Registered();
        await StartAsync(options);
        await RingTables.HaveRoomAsync(110);
        await Group.StopAsync(TimeSpan.Zero).Within();

        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit before));
        ulong fewer = (ulong)Directory.GetFiles("/proc/self/fd").Length + 64;
        try
        {
            Assert.Equal(0, DescriptorLimit.Set(before with { Soft = fewer }));
            await StartAsync(options with { Limits = new Limits() });
        }
        finally
        {
            Assert.Equal(0, DescriptorLimit.Set(before));
        }

        await RingTables.HaveRoomAsync((int)fewer);
    }

    [Fact]
    public async Task On_epoll_it_is_ignored_and_said_once()
    {
        Listener listener = await ServeAsync(
            Handlers.EchoAsync, (Options() with { Reactors = 2 }).Registered() with { Backend = BackendKind.Epoll });
        await AssertEchoesAsync(await ConnectAsync(listener));
        Assert.Equal(1, Log.Count(111));
    }

    [Fact]
    public void Of_a_table_that_is_refused_cause_and_remedy_are_told()
    {
        using Ring ring = Ring.Create(Options());
        EngineException refusal = Assert.Throws<EngineException>(() => new FileTable(ring, FileTable.KernelMost + 1));
        Assert.Equal((UringObstacle.Scarcity, Errno.EMFILE), (refusal.Refusal!.Obstacle, refusal.Refusal.ErrorNumber));
        Assert.Contains("raise the limit ('ulimit -n'", refusal.Message, StringComparison.Ordinal);

        // The kernel refuses a second table, as an older one or a sandbox would refuse the first.
        using var table = new FileTable(ring, 1);
        refusal = Assert.Throws<EngineException>(() => new FileTable(ring, 1));
        Assert.Equal((UringObstacle.Files, false), (refusal.Refusal!.Obstacle, refusal.Refusal.IsAbsence));
        Assert.Equal(
            $"io_uring got no table of registered files ({Errno.Describe(Errno.EBUSY)}): "
                + "use Linux 6.13 or newer, or do without registered files.",
            refusal.Message);
    }

    private static EngineOptions Of(bool isPolled) => isPolled ? Options().Registered().Polled() : Options().Registered();

    /// <summary>Echoes, but for letters that end the connection by nothing but a close of its socket.</summary>
    private static async Task EndAsToldAsync(Connection connection)
    {
        while (await connection.ReadAsync() == ReadOutcome.Data)
        {
            switch (connection.Input[0])
            {
                case (byte)'f':
                    connection.Consume(connection.Input.Length);
                    connection.Finish();
                    return;
                case (byte)'r':
                    connection.Abort();
                    return;
            }

            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
            await connection.FlushAsync();
        }
    }

    /// <summary>A connection that brings its own bytes back, and ends in one of three ways.</summary>
    private static async Task ConverseAsync(Listener listener, int id)
    {
        using Client client = await Client.ConnectAsync(listener.EndPoint);
        await client.SendAsync(Pattern.Make(id, 64));
        Pattern.Check(id, await client.ReceiveAsync(64));
        if (id % 3 == 0)
        {
            client.EndSending();
            Assert.Empty(await client.ReceiveToEndAsync());
        }
        else if (id % 3 == 1)
        {
            await client.SendAsync("unread");
        }
    }

    private static async Task AssertEchoesAsync(Client client)
    {
        await client.SendAsync("here");
        Assert.Equal("here", await client.ReceiveTextAsync(4));
    }
}
