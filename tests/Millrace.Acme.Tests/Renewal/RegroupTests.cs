using Microsoft.Extensions.Logging;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Names that move between certificates: what was obtained serves them until the successor is there.</summary>
public sealed class RegroupTests : AcmeTest
{
    [Theory]
    [InlineData("a.example+b.example", "a.example b.example", 2)]
    [InlineData("a.example b.example", "b.example+a.example", 1)]
    [InlineData("a.example+x.example a.example+y.example", "a.example+x.example", 0)]
    [InlineData("a.example+x.example a.example+y.example", "a.example y.example+x.example", 2)]
    [InlineData("a.example", "b.example+a.example", 1)]
    [InlineData("a.example+b.example", "b.example+a.example", 0)]
    public async Task Names_are_served_by_earlier_certificates_until_their_own_is_there(string before, string after, int orders)
    {
        foreach (bool isRestarted in (bool[])[true, false])
        {
            await using AcmeWorld world = await AcmeWorld.CreateAsync();
            RunningManager running = world.Start(options => options with { Certificates = Lists(before) });
            await world.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
            int ordered = world.Authority.Orders.Count;
            world.Authority.IsDown = true;
            if (isRestarted)
            {
                await world.StopAsync(running);
                running = world.Start(options => options with { Certificates = Lists(after) });
            }
            else
            {
                running.Manager.Replace(Lists(after));
            }

            string[] names = [.. Lists(after).SelectMany(static names => names).Intersect(Lists(before).SelectMany(static names => names))];
            Assert.All(names, name => AssertServed(world, running, name));
            await world.RunForAsync(TimeSpan.FromHours(2));
            Assert.All(names, name => AssertServed(world, running, name));

            world.Authority.IsDown = false;
            await world.RunForAsync(TimeSpan.FromHours(3));
            Assert.Equal(ordered + orders, world.Authority.Orders.Count);
            Assert.Equal(Lists(after).Count, Served(running).Count);
            Assert.All(Served(running), certificate => Assert.Contains(
                Lists(after), names => names.ToHashSet().SetEquals(certificate.Names)));
            Assert.All(running.Manager.Certificates, static one => Assert.Null(one.LastError));
        }
    }

    [Fact]
    public async Task A_successor_of_some_names_does_not_take_the_certificate_of_the_others()
    {
        World.Authority.Lifetime = TimeSpan.FromDays(9);
        RunningManager first = await World.ObtainAsync(options => options with { Certificates = [["a.example", "b.example"]] });
        await World.StopAsync(first);
        World.Authority.Issue = (request, now) => request.CertificateExtensions.Any(static e => e.RawData.AsSpan().IndexOf("b.exa"u8) >= 0)
            ? throw new TestProblem("rejectedIdentifier", "not for b.example", 403)
            : (request, now);
        RunningManager second = World.Start(options => options with { Certificates = [["b.example"], ["a.example"]] });
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(2, World.Authority.Issued.Count());
        AssertServed(World, second, "b.example");
        Assert.Equal(first.Only.NotAfter, second.Manager.Certificates[0].NotAfter);
        Assert.NotNull(second.Manager.Certificates[0].LastError);

        // The new one comes first: it outlives the old one.
        Assert.Equal(["a.example"], Served(second)[0].Names);

        // Nor does a restart, until the earlier one expires.
        await World.StopAsync(second);
        second = World.Start(options => options with { Certificates = [["b.example"], ["a.example"]] });
        AssertServed(World, second, "b.example");
        await World.RunForAsync(TimeSpan.FromDays(10));
        await World.StopAsync(second);
        second = World.Start(options => options with { Certificates = [["b.example"], ["a.example"]] });
        Assert.Equal(["a.example"], Served(second).Single().Names);
    }

    [Fact]
    public async Task A_certificate_that_has_expired_gives_way_to_another_that_has_not()
    {
        RunningManager running = await World.ObtainAsync(options => options with { Certificates = [["a.example"]] });
        string expired = running.Only.File!;
        running.Manager.Replace([["a.example", "b.example"]]);
        await World.RunForAsync(TimeSpan.FromDays(95));
        string valid = running.Only.File!;
        World.Authority.IsDown = true;
        running.Manager.Replace([["a.example"]]);
        Assert.Equal(valid, running.Only.File);
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal([valid], running.Manager.Files);
        Assert.Equal(LogLevel.Warning, World.Log.Lines.Last(static line => line.Id == 814).Level);
        World.Authority.IsDown = false;
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal([expired], running.Manager.Files);
        Assert.True(running.Only.NotAfter > World.Now + TimeSpan.FromDays(80));
    }

    [Fact]
    public async Task A_folder_that_is_named_by_the_first_name_is_found_again()
    {
        RunningManager first = await World.ObtainAsync(options => options with { Certificates = [["www.example.org", "example.org"]] });
        await World.StopAsync(first);
        string folder = Path.GetDirectoryName(first.Only.File!)!;
        string earlier = Path.Combine(World.Store, "certificates", "www.example.org-p256");
        if (folder != earlier)
        {
            Directory.Move(folder, earlier);
        }

        RunningManager second = World.Start(options => options with { Certificates = [["www.example.org", "example.org"]] });
        Assert.Equal(first.Only.NotAfter, second.Only.NotAfter);
        await World.RunForAsync(TimeSpan.FromDays(50));
        Assert.Single(World.Authority.Orders);
        Assert.Equal(first.Only.NextRenewal, second.Only.NextRenewal);
        Assert.Single(Directory.GetDirectories(Path.Combine(World.Store, "certificates")));
    }

    [Fact]
    public async Task A_certificate_that_is_not_configured_any_more_is_kept_until_it_has_expired()
    {
        RunningManager running = World.Start(options => options with { Certificates = [["a.example"], ["b.example"], ["c.example"]] });
        await World.RunUntilAsync(() => running.Manager.Certificates.All(static one => one.File is not null), Soon);
        string file = running.Manager.Certificates[0].File!;
        string other = running.Manager.Certificates[2].File!;
        File.WriteAllText(Path.Combine(Path.GetDirectoryName(file)!, "notes.txt"), "of the operator");
        running.Manager.Replace([["b.example"]]);
        await World.RunForAsync(TimeSpan.FromDays(50));
        running.Manager.Replace([["a.example"], ["b.example"]]);
        Assert.Equal(file, running.Manager.Certificates[0].File);
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(3, World.Authority.Orders.Count);

        running.Manager.Replace([["b.example"]]);
        await World.RunForAsync(TimeSpan.FromDays(60));
        Assert.True(File.Exists(file));
        Assert.True(File.Exists(other));
        await World.RunForAsync(TimeSpan.FromDays(80));
        Assert.Equal(["notes.txt"], Directory.GetFiles(Path.GetDirectoryName(file)!).Select(Path.GetFileName));
        Assert.False(Directory.Exists(Path.GetDirectoryName(other)));
        Assert.True(running.Only.NotAfter > World.Now + TimeSpan.FromDays(20));
    }

    [Fact]
    public async Task A_name_that_returns_at_once_waits_for_the_end_of_its_earlier_loop()
    {
        using var go = new ManualResetEventSlim();
        var reached = new TaskCompletionSource();
        RunningManager running = World.Start(step: step =>
        {
            if (step == "before writing certificate.pem" && reached.TrySetResult())
            {
                go.Wait(TimeSpan.FromSeconds(30));
            }
        });
        Task obtained = World.RunUntilAsync(() => running.Only.File is not null, Soon);
        await reached.Task.WaitAsync(TimeSpan.FromSeconds(30));
        for (int i = 0; i < 3; i++)
        {
            running.Manager.Replace([]);
            running.Manager.Replace([["example.org"]]);
        }

        go.Set();
        await obtained;
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Single(World.Authority.Orders);
        Assert.DoesNotContain(World.Log.Lines, static line => line.Level >= LogLevel.Warning);
    }

    private static IReadOnlyList<IReadOnlyList<string>> Lists(string text) => [.. text.Split(' ').Select(static one => one.Split('+'))];

    private static void AssertServed(AcmeWorld world, RunningManager running, string name) => Assert.Contains(
        Served(running), one => one.Names.Contains(name) && one.NotBefore <= world.Now && world.Now < one.NotAfter);

    private static IReadOnlyList<StoredCertificate> Served(RunningManager running) =>
        [.. running.Manager.Files.Select(static file => StoredCertificate.Parse(File.ReadAllText(file)))];
}
