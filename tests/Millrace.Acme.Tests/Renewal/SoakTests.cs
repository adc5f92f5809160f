using Millrace.Acme.Storage;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>A year.</summary>
public sealed class SoakTests
{
    /// <summary>Certificates of 45 days, renewed on the thirtieth: thirteen in a year.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_year_has_no_gap_and_no_needless_order(bool hasWindow)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Lifetime = TimeSpan.FromDays(45);
        world.Authority.BadNonceEvery = 7;
        if (hasWindow)
        {
            world.Authority.Window = static certificate =>
                (new DateTimeOffset(certificate.NotBefore.AddDays(29)), new DateTimeOffset(certificate.NotBefore.AddDays(31)));
        }

        RunningManager running = world.Start(
            options => options with { Certificates = [["example.org", "www.example.org", "api.example.org"]] });
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(1));
        DateTimeOffset begin = world.Now;
        var random = new Random(45);
        while (world.Now < begin + TimeSpan.FromDays(365))
        {
            // A day like others: the authority is down for up to an hour, now and then the process ends.
            await world.RunForAsync(TimeSpan.FromHours(23 * random.NextDouble()));
            world.Authority.IsDown = true;
            await world.RunForAsync(TimeSpan.FromHours(random.NextDouble()));
            world.Authority.IsDown = false;
            if (random.Next(10) == 0)
            {
                await world.StopAsync(running);
                running = world.Start(
                    options => options with { Certificates = [["example.org", "www.example.org", "api.example.org"]] });
            }

            StoredCertificate stored = StoredCertificate.Parse(File.ReadAllText(running.Only.File!));
            Assert.InRange(world.Now, stored.NotBefore, stored.NotAfter - TimeSpan.FromDays(10));
        }

        Assert.InRange(world.Authority.Orders.Count, 12, 14);
        Assert.All(world.Authority.Orders, static order => Assert.NotNull(order.Certificate));
        Assert.Single(world.Authority.Accounts);
        if (hasWindow)
        {
            Assert.All(world.Authority.Orders.Skip(1), static order => Assert.NotNull(order.Replaces));
        }
    }
}
