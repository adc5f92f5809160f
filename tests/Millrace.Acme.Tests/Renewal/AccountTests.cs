using System.Reflection;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Protocol;
using Millrace.Acme.Renewal;
using Millrace.Acme.Storage;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Accounts that are found again, refused or lost.</summary>
public sealed class AccountTests : AcmeTest
{
    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    public async Task A_challenge_that_is_unauthorized_is_not_about_the_account(string challenge)
    {
        World.Authority.Offered = [challenge];
        World.Authority.Unreachable.Add(challenge);
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 1, TimeSpan.FromMinutes(6));
        Assert.Equal("unauthorized", running.Only.LastErrorType);
        Assert.Contains("connection refused", running.Only.LastError, StringComparison.Ordinal);
        Assert.Equal(1, World.Authority.Count("new-account"));
        Assert.Single(World.Authority.Accounts);
        RunningManager reader = World.Start();
        Assert.Equal("unauthorized", reader.Only.LastErrorType);
    }

    [Theory]
    [InlineData("rateLimited", "rateLimited")]
    [InlineData("with\" } an attacker's words", "other")]
    [InlineData(null, "other")]
    public async Task The_type_of_an_error_is_one_of_a_fixed_set(string? type, string word)
    {
        World.Authority.Refuse = operation => operation == "new-order" && type is not null ? new TestProblem(type, "no", 400) : null;
        World.Authority.IsDown = type is null;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 1, TimeSpan.FromMinutes(6));
        Assert.Equal(word, running.Only.LastErrorType);
        World.Authority.Refuse = static _ => null;
        World.Authority.IsDown = false;
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromHours(3));
        Assert.Null(running.Only.LastErrorType);
    }

    [Fact]
    public async Task A_revoked_account_is_replaced_by_one_with_another_key()
    {
        RunningManager running = await World.ObtainAsync();
        World.Authority.Accounts[0].IsValid = false;
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.Equal(2, World.Authority.Accounts.Count);
        Assert.NotEqual(World.Authority.Accounts[0].Thumbprint, World.Authority.Accounts[1].Thumbprint);
        Assert.Equal(2, Directory.GetFiles(World.Store, "account*.key", SearchOption.AllDirectories).Length);
        Assert.Equal(0, running.Only.Failures);
        Assert.Contains(World.Log.Lines, static line => line is { Id: 801, Level: LogLevel.Warning });
    }

    [Fact]
    public async Task An_account_is_replaced_once_an_hour_at_most()
    {
        World.Authority.Refuse = operation => operation == "new-order" ? Deactivate(World.Authority) : null;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures >= 9, TimeSpan.FromHours(12));
        Assert.InRange(World.Authority.Accounts.Count, 3, 1 + (int)Math.Ceiling((World.Now - AcmeWorld.Begin).TotalHours) + 1);

        // After a restart too.
        await World.StopAsync(running);
        int accounts = World.Authority.Accounts.Count;
        RunningManager again = World.Start();
        await World.RunForAsync(TimeSpan.FromMinutes(30));
        Assert.InRange(World.Authority.Accounts.Count, accounts, accounts + 1);
        Assert.NotNull(again.Only.LastError);
    }

    [Fact]
    public async Task A_refusal_that_is_not_about_the_account_leaves_it()
    {
        World.Authority.Refuse = static operation => operation == "new-order" ? new TestProblem("unauthorized", "not for you", 403) : null;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 4, TimeSpan.FromHours(1));
        Assert.Single(World.Authority.Accounts);
        Assert.Single(Directory.GetFiles(World.Store, "account*.key", SearchOption.AllDirectories));
    }

    [Fact]
    public async Task An_account_that_the_authority_forgot_is_registered_again_with_its_key()
    {
        RunningManager running = await World.ObtainAsync();
        World.Authority.Forget();
        await World.RunUntilAsync(() => World.Authority.Issued.Any(), TimeSpan.FromDays(61));
        await World.RunUntilAsync(() => running.Only.NextRenewal > World.Now + TimeSpan.FromDays(2), Soon);
        Assert.Single(World.Authority.Accounts);
        Assert.Single(Directory.GetFiles(World.Store, "account*.key", SearchOption.AllDirectories));
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task An_account_is_found_by_its_key_if_its_file_is_lost()
    {
        RunningManager running = await World.ObtainAsync();
        await World.StopAsync(running);
        File.Delete(Directory.GetFiles(World.Store, "account.json", SearchOption.AllDirectories).Single());
        RunningManager again = World.Start();
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.Single(World.Authority.Accounts);
        Assert.Equal(0, again.Only.Failures);
    }

    [Fact]
    public async Task Keys_without_an_account_are_not_kept()
    {
        var log = new AcmeLog(NullLogger.Instance);
        using AcmeStore store = AcmeStore.Open(World.Store, log);
        IAcmeClient client = DispatchProxy.Create<IAcmeClient, AbsentAuthority>();
        using var requests = new AcmeRequests(client);
        using var keeper = new AccountKeeper(store.Account(World.Options.DirectoryUrl), requests, World.Options, World.Clock, log);
        for (int attempt = 0; attempt < 5; attempt++)
        {
            await Assert.ThrowsAsync<AcmeException>(() => keeper.GetAsync(CancellationToken.None));
        }

        List<ECDsa> keys = ((AbsentAuthority)client).Keys;
        Assert.Equal(5, keys.Count);
        Assert.All(keys, static key => Assert.Throws<ObjectDisposedException>(() => key.ExportParameters(includePrivateParameters: false)));
        Assert.Single(Directory.GetFiles(World.Store, "account*", SearchOption.AllDirectories));
    }

    private static TestProblem Deactivate(TestAuthority authority)
    {
        foreach (TestAccount account in authority.Accounts)
        {
            account.IsValid = false;
        }

        return new TestProblem("unauthorized", "the account is deactivated", 403);
    }

    /// <summary>Answers nothing, and remembers the keys.</summary>
#pragma warning disable CA1852 // The proxy derives from it at run time.
    internal class AbsentAuthority : DispatchProxy
    {
        public List<ECDsa> Keys { get; } = [];

        protected override object? Invoke(MethodInfo? targetMethod, object?[]? args)
        {
            if (targetMethod?.Name != nameof(IAcmeClient.CreateAccountAsync))
            {
                return null;
            }

            Keys.Add((ECDsa)args![0]!);
            return Task.FromException<AcmeAccount>(new AcmeException("nobody is there"));
        }
    }
}
