using System.Globalization;
using System.Text.Json;
using Millrace.Server.Configuration.Settings;

namespace Millrace.Server.Configuration.Files;

/// <summary>Rejects duplicate keys of one object, of which JSON does not define the meaning.</summary>
internal sealed class DuplicateKeyCheck(FileText file, ICollection<OptionError> errors)
{
    private readonly Dictionary<string, FilePosition> _seen = [];

    public bool Has(string key) => _seen.ContainsKey(key);

    /// <summary>The reader's current key; null, with an error, for a duplicate.</summary>
    public string? Enter(ref Utf8JsonReader reader)
    {
        FilePosition position = file.At(reader.TokenStartIndex);
        string key = ValueReader.TextOf(ref reader);
        if (_seen.TryAdd(key, position))
        {
            return key;
        }

        errors.Add(new OptionError(new SettingOrigin(SettingSource.File, position), string.Create(
            CultureInfo.InvariantCulture, $"'{key}' is set twice, first in line {_seen[key].Line}: remove one.")));
        return null;
    }
}
