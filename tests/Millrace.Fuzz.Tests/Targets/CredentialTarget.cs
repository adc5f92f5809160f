using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Authorization fields of the Basic scheme (RFC 7617 section 2), for rooms that suffice and do not.</summary>
internal sealed class CredentialTarget : FuzzTarget
{
    private readonly GuardedMemory _room = new(1024);

    public override string Name => "credential";

    public override int InputBytesMax => 256;

    public override IReadOnlyList<string> Words =>
    [
        "Basic ", "basic", "BASIC  ", "Bearer ", "QTpi", "YTpi", "Og==", "=", "==", "\t", "/", "+", "-", "_", "AAAA",
    ];

    public override byte[] Generate(Random random)
    {
        byte[] text = new byte[random.Next(40)];
        random.NextBytes(text);
        for (int at = 0; at < text.Length && random.Next(4) != 0; at++)
        {
            text[at] = (byte)random.Pick(":aé 0".AsSpan());
        }

        return Latin1.Bytes($"Basic {Convert.ToBase64String(text)}");
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string authorization = Latin1.Text(input);
        string outcome = "";
        foreach (int bytesMax in (int[])[0, 1, 12, 1024])
        {
            bool isRead = BasicCredentials.TryDecode(input, _room.Take(bytesMax), out var user, out var password);
            Require(isRead || (user.IsEmpty && password.IsEmpty), "refused credentials are not empty");
            string read = isRead ? $"{Latin1.Text(user)}\n{Latin1.Text(password)}" : "none";
            (string Name, string Secret)? expected = ReferenceCredentials.Read(authorization, bytesMax);
            Agree(expected is null ? "none" : $"{expected.Value.Name}\n{expected.Value.Secret}", read, $"room of {bytesMax}");
            outcome += isRead ? user.IsEmpty ? "anonymous " : "named " : "none ";
            if (isRead)
            {
                CheckRoundTrip(Latin1.Text(user), Latin1.Text(password), read);
            }
        }

        return outcome;
    }

    private static void CheckRoundTrip(string user, string password, string read)
    {
        byte[] again = Latin1.Bytes($"Basic {Convert.ToBase64String(Encoding.Latin1.GetBytes($"{user}:{password}"))}");
        bool isRead = BasicCredentials.TryDecode(again, new byte[1024], out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> secret);
        Require(isRead, "written anew they are refused");
        Agree(read, $"{Latin1.Text(name)}\n{Latin1.Text(secret)}", "written anew");
    }
}
