using System.Globalization;
using System.Text.Json;
using Millrace.Server.Options.Settings;

namespace Millrace.Server.Options.Files;

/// <summary>The keys of one object: each is there once. JSON leaves open which of two would hold.</summary>
internal sealed class KeyGuard(FileText file, ICollection<Complaint> complaints)
{
    private readonly Dictionary<string, FilePosition> _seen = [];

    public bool Has(string key) => _seen.ContainsKey(key);

    /// <summary>The key that the reader is at; null, with a complaint, for one that was there before.</summary>
    public string? Enter(ref Utf8JsonReader reader)
    {
        FilePosition position = file.At(reader.TokenStartIndex);
        string key = ValueReader.TextOf(ref reader);
        if (_seen.TryAdd(key, position))
        {
            return key;
        }

        complaints.Add(new Complaint(new Origin(SettingSource.File, position), string.Create(
            CultureInfo.InvariantCulture, $"'{key}' is said twice, in line {_seen[key].Line} before: write it once.")));
        return null;
    }
}
