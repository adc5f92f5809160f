using Microsoft.Extensions.Logging;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Accounts that are found again, refused or lost.</summary>
public sealed class AccountTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task A_revoked_account_is_replaced_by_one_with_another_key()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        world.Authority.Accounts[0].IsValid = false;
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.Equal(2, world.Authority.Accounts.Count);
        Assert.NotEqual(world.Authority.Accounts[0].Thumbprint, world.Authority.Accounts[1].Thumbprint);
        Assert.Equal(2, Directory.GetFiles(world.Store, "account*.key", SearchOption.AllDirectories).Length);
        Assert.Equal(0, running.Only.Failures);
        Assert.Contains(world.Log.Lines, static line => line is { Id: 801, Level: LogLevel.Warning });
    }

    [Fact]
    public async Task An_account_is_replaced_once_an_hour_at_most()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Refuse = operation => operation == "new-order" ? Deactivate(world.Authority) : null;
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures >= 9, TimeSpan.FromHours(12));
        Assert.InRange(world.Authority.Accounts.Count, 3, 1 + (int)Math.Ceiling((world.Now - Begin).TotalHours) + 1);

        // After a restart too.
        await world.StopAsync(running);
        int accounts = world.Authority.Accounts.Count;
        RunningManager again = world.Start();
        await world.RunForAsync(TimeSpan.FromMinutes(30));
        Assert.InRange(world.Authority.Accounts.Count, accounts, accounts + 1);
        Assert.NotNull(again.Only.LastError);
    }

    [Fact]
    public async Task A_refusal_that_is_not_about_the_account_leaves_it()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Refuse = static operation => operation == "new-order" ? new TestProblem("unauthorized", "not for you", 403) : null;
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures == 4, TimeSpan.FromHours(1));
        Assert.Single(world.Authority.Accounts);
        Assert.Single(Directory.GetFiles(world.Store, "account*.key", SearchOption.AllDirectories));
    }

    [Fact]
    public async Task An_account_that_the_authority_forgot_is_registered_again_with_its_key()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        world.Authority.Forget();
        await world.RunUntilAsync(() => world.Authority.Issued.Any(), TimeSpan.FromDays(61));
        await world.RunUntilAsync(() => running.Only.NextRenewal > world.Now + TimeSpan.FromDays(2), Soon);
        Assert.Single(world.Authority.Accounts);
        Assert.Single(Directory.GetFiles(world.Store, "account*.key", SearchOption.AllDirectories));
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task An_account_is_found_by_its_key_if_its_file_is_lost()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        await world.StopAsync(running);
        File.Delete(Directory.GetFiles(world.Store, "account.json", SearchOption.AllDirectories).Single());
        RunningManager again = world.Start();
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.Single(world.Authority.Accounts);
        Assert.Equal(0, again.Only.Failures);
    }

    private static readonly DateTimeOffset Begin = new(2027, 1, 1, 0, 0, 0, TimeSpan.Zero);

    private static TestProblem Deactivate(TestAuthority authority)
    {
        foreach (TestAccount account in authority.Accounts)
        {
            account.IsValid = false;
        }

        return new TestProblem("unauthorized", "the account is deactivated", 403);
    }
}
