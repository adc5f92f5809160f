using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>A process that is killed at any step of an order, and the one that continues in its folder.</summary>
public sealed class KillTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(2);

    [Fact]
    public async Task A_kill_at_any_step_of_the_first_order_loses_no_account_and_repeats_no_order()
    {
        IReadOnlyList<string> steps = await StepsAsync(isRenewal: false);
        Assert.True(steps.Count > 30, string.Join('\n', steps));
        for (int i = 0; i < steps.Count; i++)
        {
            await KillAsync(steps, i, isRenewal: false);
        }
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_kill_at_any_step_of_a_renewal_keeps_a_certificate_in_use()
    {
        IReadOnlyList<string> steps = await StepsAsync(isRenewal: true);
        Assert.True(steps.Count > 30, string.Join('\n', steps));
        for (int i = 0; i < steps.Count; i++)
        {
            await KillAsync(steps, i, isRenewal: true);
        }
    }

    /// <summary>The steps from the begin, or from the renewal, to the certificate.</summary>
    private static async Task<IReadOnlyList<string>> StepsAsync(bool isRenewal)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        var steps = new List<string>();
        RunningManager running = world.Start(step: steps.Add);
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        if (isRenewal)
        {
            await world.SleepUntilRenewalAsync(running);
            steps.Clear();
            await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2 && running.Only.NextRenewal is not null, TimeSpan.FromHours(2));
        }

        return [.. steps];
    }

    private static async Task KillAsync(IReadOnlyList<string> steps, int at, bool isRenewal)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        string where = $"killed at step {at}: {steps[at]}";
        int countdown = int.MaxValue;
        bool isDead = false;
        RunningManager killed = world.Start(step: step =>
        {
            // From here on nothing is sent or written any more.
            isDead |= countdown-- == 0;
            if (isDead)
            {
                throw new KilledException();
            }
        });
        if (isRenewal)
        {
            await world.RunUntilAsync(() => killed.Only.File is not null, Soon);
            await world.SleepUntilRenewalAsync(killed);
        }

        countdown = at;
        await world.RunUntilAsync(() => isDead, TimeSpan.FromHours(2));
        string? before = killed.Only.File is { } file ? File.ReadAllText(file) : null;
        await world.StopAsync(killed);
        int orders = world.Authority.Orders.Count;
        if (before is not null)
        {
            StoredCertificate.Parse(before);
        }

        RunningManager next = world.Start();
        int wanted = isRenewal ? 2 : 1;
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == wanted && next.Only is { File: not null, NextRenewal: not null }
            && next.Only.NextRenewal > world.Now + TimeSpan.FromDays(2), TimeSpan.FromHours(3));
        await world.RunForAsync(TimeSpan.FromDays(1));
        StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(next.Only.File!));
        Assert.Equal(world.Authority.Orders.Last(static order => order.Certificate is not null).Certificate!.Thumbprint, stored.Leaf.Thumbprint);
        Assert.Empty(Directory.GetFiles(world.Store, "*.tmp", SearchOption.AllDirectories));
        Assert.Empty(Directory.GetFiles(world.Store, "order.json", SearchOption.AllDirectories));
        Assert.True(world.Authority.Accounts.Count == 1, where);

        // The one order that nobody can know of: it was made, and its URL did not reach the disk.
        int needless = steps[at] is "after CreateOrderAsync" || (orders == wanted && IsFirstWriteOfTheUrl(steps, at)) ? 1 : 0;
        Assert.True(world.Authority.Orders.Count == wanted + needless, $"{where}: {world.Authority.Orders.Count} orders, {needless} needless\n{world.Log}");
        Assert.Equal(0, next.Only.Failures);
    }

    private static bool IsFirstWriteOfTheUrl(IReadOnlyList<string> steps, int at) =>
        steps[at] is "before writing order.json" or "before renaming order.json"
        && steps.Take(at).Contains("after CreateOrderAsync") && steps.Skip(at).Contains("before GetAuthorizationAsync");

    internal sealed class KilledException : Exception;
}
