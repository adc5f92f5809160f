using System.Text;
using Millrace.StaticFiles.Access;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Access;

public class CredentialCacheTests
{
    private readonly ManualTime _time = new();
    private readonly CredentialCache _grants;

    public CredentialCacheTests() => _grants = new CredentialCache(_time);

    [Fact]
    public void A_grant_is_of_one_user_one_password_and_one_hash()
    {
        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.True(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
        Assert.False(_grants.Contains(new UserCredentials("bob"u8, "secret"u8, "hash"u8)));
        Assert.False(_grants.Contains(new UserCredentials("ann"u8, "Secret"u8, "hash"u8)));
        Assert.False(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "Hash"u8)));
    }

    [Fact]
    public void Letters_cannot_move_between_user_password_and_hash()
    {
        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.False(_grants.Contains(new UserCredentials("anns"u8, "ecret"u8, "hash"u8)));
        Assert.False(_grants.Contains(new UserCredentials("an"u8, "nsecret"u8, "hash"u8)));
        Assert.False(_grants.Contains(new UserCredentials("ann"u8, "secreth"u8, "ash"u8)));
    }

    [Fact]
    public void Another_cache_grants_nothing()
    {
        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));

        Assert.False(new CredentialCache(_time).Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
    }

    [Fact]
    public void A_grant_ends_at_its_time_however_often_it_was_used_and_can_be_given_anew()
    {
        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        _time.Advance(CredentialCache.Lifetime - TimeSpan.FromSeconds(1));
        Assert.True(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.False(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        Assert.True(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));
    }

    [Fact]
    public void The_oldest_of_a_full_set_makes_way_and_no_younger_one()
    {
        const int Total = CredentialCache.SetCount * 16;
        for (int i = 0; i < Total; i++)
        {
            Add(i);
            _time.Advance(TimeSpan.FromTicks(1));
        }

        // Four of each set are left: all of the last 512, but for sets that got five of these (one in some hundred thousand).
        Assert.True(Enumerable.Range(Total - 512, 512).Count(Holds) >= 508);
        Assert.InRange(Enumerable.Range(0, Total).Count(Holds), CredentialCache.SetCount * 4 * 95 / 100, CredentialCache.SetCount * 4);
    }

    [Fact]
    public void Looking_up_allocates_nothing()
    {
        _grants.Add(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
        Assert.True(_grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8)));

        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 1000; i++)
            {
                _ = _grants.Contains(new UserCredentials("ann"u8, "secret"u8, "hash"u8));
                _ = _grants.Contains(new UserCredentials("bob"u8, "secret"u8, "hash"u8));
            }
        });

        Assert.Equal(0, allocated);
    }

    private void Add(int i) => _grants.Add(new UserCredentials(Encoding.ASCII.GetBytes($"user{i}"), "secret"u8, "hash"u8));

    private bool Holds(int i) => _grants.Contains(new UserCredentials(Encoding.ASCII.GetBytes($"user{i}"), "secret"u8, "hash"u8));
}
