using Millrace.Fuzz.Tests.Kit;
using Millrace.Interop.Crypt;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Files of htpasswd: all of it is taken or none, and a refusal never shows a hash.</summary>
internal sealed class PasswordFileTarget : FuzzTarget
{
    private const string Bcrypt = "$2y$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    private const string Sha256 = "$5$rounds=1000$saltstring$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    private const string Yescrypt = "$y$j75$h6Bmt6iKVkwbaQLg4oMCJ1$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    private static readonly string Sha512 = "$6$salt$" + new string('B', 86);

    private readonly CryptLibrary _library =
        CryptLibrary.TryLoad(out CryptLibrary? library) ? library : throw new InvalidOperationException("No libcrypt on this machine.");

    public override string Name => "password-file";

    public override int OutcomesMin => 3;

    public override IReadOnlyList<string> Words =>
    [
        $"a:{Bcrypt}\n", $"b:{Sha256}\n", $"c:{Sha512}\n", $"d:{Yescrypt}\n", "rounds=999$", "rounds=", "$6$", "$apr1$", "{SHA}", ":",
        "#", "\r\n", "\n", "\0", "\xEF\xBB\xBF", "*", "$2y$31$", "$2y$3$",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> lines = Enumerable.Range(0, random.Next(4)).Select(_ =>
            $"{random.Pick("ann", "bob", "carl", "Änn", "# d")}:{random.Pick(Bcrypt, Sha256, Sha512, Yescrypt)}{random.Pick("", "", ":note")}");
        return Latin1.Bytes(string.Join(random.Pick("\n", "\r\n"), lines));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string text = Latin1.Text(input);
        SortedDictionary<string, string>? expected = ReferencePasswordFile.Read(text);
        bool isKnown = expected?.Values.All(hash => _library.Knows(Latin1.Bytes(hash))) ?? false;
        try
        {
            PasswordTable table = PasswordFileParser.Parse("users", input, _library);
            Require(isKnown, "the model refuses it");
            Agree($"{expected!.Count}", $"{table.Count}", "users");
            foreach ((string user, string hash) in expected)
            {
                ReadOnlySpan<byte> found = table.HashOf(Latin1.Bytes(user), out bool isUser);
                Agree($"True {hash}", $"{isUser} {Latin1.Text(found)}", user);
            }

            return $"{Math.Min(table.Count, 3)} users";
        }
        catch (SiteException refusal)
        {
            Require(!isKnown, $"the model takes it: {refusal.Message}");
            string line = text.Split('\n')[int.Parse(refusal.Cause.Split([':', ' '])[1], null) - 1];
            string secret = line[(line.IndexOf(':') + 1)..].Trim();
            Require(secret.Length < 20 || !refusal.Message.Contains(secret, StringComparison.Ordinal), "a refusal shows a hash");
            return "refused " + string.Join(' ', refusal.Cause.Split(' ').Skip(1).Take(3));
        }
    }
}
