using System.IO.Compression;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Arena.Tests.Kit;

/// <summary>An item of the dataset, as the board's documents describe it.</summary>
internal sealed record BoardItem(
    int Id, string Name, string Category, int Price, int Quantity, bool Active, string[] Tags, BoardRating Rating, long Total = 0);

internal sealed record BoardRating(int Score, int Count);

/// <summary>What /json/{count} answers with.</summary>
internal sealed record BoardPage(BoardItem[] Items, int Count);

/// <summary>What the board mounts: the dataset, the static files with their coded siblings, a certificate. Removed when disposed.</summary>
internal sealed class Board : IDisposable
{
    /// <summary>The board's twenty, with their sizes.</summary>
    public static readonly IReadOnlyDictionary<string, int> Sizes = new Dictionary<string, int>(StringComparer.Ordinal)
    {
        ["reset.css"] = 8_192,
        ["layout.css"] = 25_600,
        ["theme.css"] = 18_432,
        ["components.css"] = 204_800,
        ["utilities.css"] = 61_440,
        ["analytics.js"] = 12_288,
        ["helpers.js"] = 22_528,
        ["app.js"] = 204_800,
        ["vendor.js"] = 307_200,
        ["router.js"] = 35_840,
        ["header.html"] = 122_880,
        ["footer.html"] = 56_320,
        ["regular.woff2"] = 18_432,
        ["bold.woff2"] = 22_528,
        ["logo.svg"] = 15_344,
        ["icon-sprite.svg"] = 71_680,
        ["hero.webp"] = 46_080,
        ["thumb1.webp"] = 8_192,
        ["thumb2.webp"] = 6_144,
        ["manifest.json"] = 2_883,
    };

    /// <summary>A file that a test changes.</summary>
    public const string Changing = "changing.css";

    public static readonly JsonSerializerOptions Json = new(JsonSerializerDefaults.Web);

    private static readonly string[] Coded = [".css", ".js", ".html", ".svg", ".json"];

    private readonly string _folder = Path.Combine(Places.Artifacts, $"arena-{Guid.NewGuid():N}");

    public Board()
    {
        Directory.CreateDirectory(Static);
        Directory.CreateDirectory(Certificates);
        File.WriteAllText(Path.Combine(Data, "dataset.json"), JsonSerializer.Serialize(Items, Json));
        foreach ((string name, int size) in Sizes)
        {
            Write(name, size);
        }

        File.WriteAllText(Path.Combine(Static, Changing), "before");
        WriteCertificate();
    }

    public string Data => Path.Combine(_folder, "data");

    public string Static => Path.Combine(Data, "static");

    public string Certificates => Path.Combine(_folder, "certs");

    public BoardItem[] Items { get; } =
    [
        .. Enumerable.Range(1, 50).Select(static i => new BoardItem(
            i, $"Mill {i}", i % 2 == 0 ? "tools" : "books", 5 + (i * 37 % 400), 1 + (i * 11 % 50), i % 3 > 0, ["new", $"tag{i}"],
            new BoardRating(i, i * 7))),
    ];

    public static bool IsCoded(string name) => Coded.Contains(Path.GetExtension(name), StringComparer.Ordinal);

    public byte[] Read(string name) => File.ReadAllBytes(Path.Combine(Static, name));

    public BoardPage Page(int count, int multiplier) => new(
        [.. Items.Take(count).Select(item => item with { Total = (long)item.Price * item.Quantity * multiplier })], count);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private void Write(string name, int size)
    {
        string path = Path.Combine(Static, name);
        if (!IsCoded(name))
        {
            byte[] noise = new byte[size];
            new Random(size).NextBytes(noise);
            File.WriteAllBytes(path, noise);
            return;
        }

        byte[] text = Text(new Random(size), size);
        File.WriteAllBytes(path, text);
        // Behind the original: a sibling that is older is not served.
        using (var gzip = new GZipStream(File.Create($"{path}.gz"), CompressionLevel.SmallestSize))
        {
            gzip.Write(text);
        }

        using var brotli = new BrotliStream(File.Create($"{path}.br"), CompressionLevel.Optimal);
        brotli.Write(text);
    }

    private static byte[] Text(Random random, int size)
    {
        var text = new StringBuilder();
        while (text.Length < size)
        {
            text.Append("mill-").Append(random.Next(1_000)).Append(": ").Append(random.Next(100_000)).Append(";\n");
        }

        return Encoding.ASCII.GetBytes(text.ToString(0, size));
    }

    private void WriteCertificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 made = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        File.WriteAllText(Path.Combine(Certificates, "server.crt"), made.ExportCertificatePem());
        File.WriteAllText(Path.Combine(Certificates, "server.key"), key.ExportPkcs8PrivateKeyPem());
    }
}
