using System.Text;
using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Tests.Access;

public class PasswordTableTests
{
    [Fact]
    public void Somebody_unknown_gets_the_same_hash_of_the_file_each_time_after_a_restart_too()
    {
        byte[] file = "a file"u8.ToArray();
        PasswordTable table = TableOf(file);
        PasswordTable restarted = TableOf(file);
        var met = new HashSet<string>();

        for (int i = 0; i < 1000; i++)
        {
            byte[] user = Encoding.ASCII.GetBytes($"nobody{i}");
            string decoy = Encoding.ASCII.GetString(table.HashOf(user, out bool isKnown));
            Assert.False(isKnown);
            Assert.Equal(decoy, Encoding.ASCII.GetString(table.HashOf(user, out _)));
            Assert.Equal(decoy, Encoding.ASCII.GetString(restarted.HashOf(user, out _)));
            met.Add(decoy);
        }

        Assert.Equal(["h0", "h1", "h2", "h3"], met.Order());
    }

    [Fact]
    public void Which_hash_somebody_unknown_gets_depends_on_the_file()
    {
        PasswordTable table = TableOf("a file"u8);
        PasswordTable other = TableOf("another"u8);

        Assert.Contains(Enumerable.Range(0, 100), i =>
        {
            byte[] user = Encoding.ASCII.GetBytes($"nobody{i}");
            return !table.HashOf(user, out _).SequenceEqual(other.HashOf(user, out _));
        });
    }

    [Fact]
    public void Without_users_nobody_has_a_hash()
    {
        ReadOnlySpan<byte> hash = PasswordTable.Empty.HashOf("ann"u8, out bool isKnown);

        Assert.False(isKnown);
        Assert.True(hash.IsEmpty);
    }

    private static PasswordTable TableOf(ReadOnlySpan<byte> file) => new(
        PasswordTable.DigestOf(file),
        Enumerable.Range(0, 4).Select(i => new KeyValuePair<byte[], byte[]>(
            Encoding.ASCII.GetBytes($"user{i}"), Encoding.ASCII.GetBytes($"h{i}"))));
}
