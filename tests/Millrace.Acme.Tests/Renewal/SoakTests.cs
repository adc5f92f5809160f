using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>A year.</summary>
public sealed class SoakTests : AcmeTest
{
    private static readonly IReadOnlyList<IReadOnlyList<string>> Lists =
        [["example.org", "www.example.org", "api.example.org"], ["example.com"], ["example.net", "example.com"]];

    /// <summary>Certificates of 45 days, renewed on the thirtieth: twelve or thirteen in a year, here one with a leap day.</summary>
    [Fact]
    public Task A_year_has_no_gap_and_no_needless_order() => RunYearAsync(hasWindow: false);

    [Fact]
    [Trait("Duration", "Full")]
    public Task A_year_in_the_windows_of_the_authority_has_no_gap_and_no_needless_order() => RunYearAsync(hasWindow: true);

    private async Task RunYearAsync(bool hasWindow)
    {
        World.Clock.Advance(TimeSpan.FromDays(250));
        World.Authority.Lifetime = TimeSpan.FromDays(45);
        World.Authority.BadNonceEvery = 7;
        if (hasWindow)
        {
            World.Authority.Window = static certificate =>
                (new DateTimeOffset(certificate.NotBefore.AddDays(29)), new DateTimeOffset(certificate.NotBefore.AddDays(31)));
        }

        RunningManager running = World.Start(static options => options with { Certificates = Lists });
        await World.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
        DateTimeOffset begin = World.Now;
        var random = new Random(45);

        // With windows the loops ask for these every six hours: the waits in between are those of the other test, which are exact.
        TimeSpan lateness = hasWindow ? TimeSpan.FromMinutes(20) : TimeSpan.Zero;
        while (World.Now < begin + TimeSpan.FromDays(366))
        {
            // A day like others: the authority is down for up to an hour, now and then the process ends.
            await World.RunForAsync(TimeSpan.FromHours(23 * random.NextDouble()), lateness);
            World.Authority.IsDown = true;
            await World.RunForAsync(TimeSpan.FromHours(random.NextDouble()), lateness);
            World.Authority.IsDown = false;
            if (random.Next(10) == 0)
            {
                await World.StopAsync(running);
                running = World.Start(static options => options with { Certificates = Lists });
            }

            Assert.All(running.Manager.Certificates, one =>
            {
                StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(one.File!));
                Assert.Equal(stored.NotAfter, one.NotAfter);
                Assert.Superset(one.Names.ToHashSet(), stored.Names.ToHashSet());
                Assert.InRange(World.Now, stored.NotBefore, stored.NotAfter - TimeSpan.FromDays(10));
            });
        }

        Assert.All(Lists, names =>
        {
            TestOrder[] orders = [.. World.Authority.Orders.Where(order => order.Names.SequenceEqual(names))];
            Assert.InRange(orders.Length, 12, 14);
            Assert.All(orders, static order => Assert.NotNull(order.Certificate));
            Assert.All(orders.Zip(orders.Skip(1)), static pair => Assert.InRange((pair.Second.Made - pair.First.Made).TotalDays, 28.4, 32));
            if (hasWindow)
            {
                Assert.All(orders.Skip(1), static order => Assert.NotNull(order.Replaces));
            }
        });
        Assert.Single(World.Authority.Accounts);
        Assert.Equal(Lists.Count, Directory.GetDirectories(Path.Combine(World.Store, "certificates")).Length);
    }
}
