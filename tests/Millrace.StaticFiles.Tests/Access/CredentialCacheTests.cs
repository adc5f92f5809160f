using System.Text;
using Millrace.StaticFiles.Access;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Access;

public class CredentialCacheTests
{
    private readonly ManualTime _time = new();
    private readonly CredentialCache _cache;

    public CredentialCacheTests() => _cache = new CredentialCache(_time);

    [Fact]
    public void An_entry_is_for_one_user_one_password_and_one_hash()
    {
        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.True(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
        Assert.False(_cache.Contains(new UserCredentials("bob"u8, "secret"u8, "hash"u8)));
        Assert.False(_cache.Contains(new UserCredentials("ann"u8, "Secret"u8, "hash"u8)));
        Assert.False(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "Hash"u8)));
    }

    [Fact]
    public void Letters_cannot_move_between_user_password_and_hash()
    {
        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.False(_cache.Contains(new UserCredentials("anns"u8, "ecret"u8, "hash"u8)));
        Assert.False(_cache.Contains(new UserCredentials("an"u8, "nsecret"u8, "hash"u8)));
        Assert.False(_cache.Contains(new UserCredentials("ann"u8, "secreth"u8, "ash"u8)));
    }

    [Fact]
    public void Another_cache_has_no_entry()
    {
        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.False(new CredentialCache(_time).Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
    }

    [Fact]
    public void An_entry_expires_however_often_it_was_used_and_can_be_added_again()
    {
        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        _time.Advance(CredentialCache.Lifetime - TimeSpan.FromSeconds(1));
        Assert.True(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.False(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        Assert.True(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
    }

    [Fact]
    public void The_oldest_entries_are_replaced_and_no_younger_ones()
    {
        const int Total = CredentialCache.EntriesMax * 4;
        for (int i = 0; i < Total; i++)
        {
            Add(i);
            _time.Advance(TimeSpan.FromTicks(1));
        }

        Assert.All(Enumerable.Range(Total - (CredentialCache.EntriesMax / 2), CredentialCache.EntriesMax / 2), i => Assert.True(Holds(i)));
        Assert.InRange(Enumerable.Range(0, Total).Count(Holds), CredentialCache.EntriesMax / 2, CredentialCache.EntriesMax);
    }

    [Fact]
    public void Threads_that_add_at_the_limit_do_not_disturb_each_other()
    {
        Parallel.For(0, 4, new ParallelOptions { MaxDegreeOfParallelism = 4 }, thread =>
        {
            for (int i = 0; i < CredentialCache.EntriesMax * 2; i++)
            {
                Add((thread * 1_000_000) + i);
            }
        });

        Add(-1);
        Assert.True(Holds(-1));
    }

    [Fact]
    public void Looking_up_allocates_nothing()
    {
        _cache.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        Assert.True(_cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 1000; i++)
            {
                _ = _cache.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
                _ = _cache.Contains(new UserCredentials("bob"u8, "secret"u8, "hash"u8));
            }
        });

        Assert.Equal(0, allocated);
    }

    private void Add(int i) => _cache.Add(new UserCredentials(Encoding.ASCII.GetBytes($"user{i}"), "secret"u8, "hash"u8));

    private bool Holds(int i) => _cache.Contains(new UserCredentials(Encoding.ASCII.GetBytes($"user{i}"), "secret"u8, "hash"u8));
}
