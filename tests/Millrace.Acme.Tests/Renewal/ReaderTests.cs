using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Several processes on one folder.</summary>
public sealed class ReaderTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task A_second_process_reads_and_takes_over_when_the_first_has_ended()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager holder = world.Start();
        await world.WhenIdleAsync();
        RunningManager reader = world.Start();
        Assert.False(holder.Manager.IsReader);
        Assert.True(reader.Manager.IsReader);
        await world.RunUntilAsync(() => holder.Only.File is not null, Soon);
        await holder.ChangedAsync();
        await world.RunUntilAsync(() => reader.Only.File is not null, TimeSpan.FromSeconds(11));
        await reader.ChangedAsync();
        Assert.Equal(holder.Only with { Names = reader.Only.Names }, reader.Only);
        Assert.True(reader.Manager.IsReader);

        await world.RunForAsync(TimeSpan.FromDays(1));
        await world.StopAsync(holder);
        Assert.Equal(1, world.Authority.Count("new-order"));
        await world.RunUntilAsync(() => !reader.Manager.IsReader, TimeSpan.FromSeconds(11));
        RunningManager third = world.Start();
        Assert.True(third.Manager.IsReader);
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        await world.RunUntilAsync(() => third.Only.NotAfter > world.Now + TimeSpan.FromDays(80), Soon);
        await reader.ChangedAsync();
        await third.ChangedAsync();
        Assert.Single(world.Authority.Accounts);
        Assert.False(third.HasUnseenChanges);
    }

    [Fact]
    public async Task A_reader_shows_what_the_holder_fails_with()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IsDown = true;
        RunningManager holder = world.Start();
        RunningManager reader = world.Start();
        await world.RunUntilAsync(() => holder.Only.Failures == 2, TimeSpan.FromMinutes(5));
        await world.RunForAsync(TimeSpan.FromSeconds(11));
        Assert.Equal(holder.Only.LastError, reader.Only.LastError);
        Assert.Equal(holder.Only.NextRenewal, reader.Only.NextRenewal);
        Assert.False(reader.HasUnseenChanges);
    }

    [Fact]
    public async Task A_process_that_takes_over_continues_the_order_under_way()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IssuanceTime = TimeSpan.FromMinutes(3);
        RunningManager holder = world.Start();
        RunningManager reader = world.Start();
        await world.RunUntilAsync(() => world.Authority.Count("finalize") == 1, Soon);
        await world.StopAsync(holder);
        await world.RunUntilAsync(() => reader.Only.File is not null, TimeSpan.FromMinutes(5));
        Assert.Equal(1, world.Authority.Count("new-order"));
        Assert.Equal(1, world.Authority.Count("finalize"));
        StoredCertificate.Parse(File.ReadAllText(reader.Only.File!));
    }
}
