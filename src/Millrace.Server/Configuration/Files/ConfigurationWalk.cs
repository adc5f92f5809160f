using System.Text.Json;
using Millrace.Server.Configuration.Rows;
using Millrace.Server.Configuration.Settings;

namespace Millrace.Server.Configuration.Files;

/// <summary>
/// Reads a configuration in one pass: groups, options, hosts. Continues after an error, so that all errors are reported at once. Throws
/// <see cref="JsonException"/> if the text is not JSON.
/// </summary>
internal sealed class ConfigurationWalk(FileText file, ICollection<OptionError> errors)
{
    private const string SchemaKey = "$schema";
    private const string RootKey = "root";

    private readonly ValueReader _values = new(file, errors);
    private readonly Dictionary<string, SettingSet> _hosts = new(StringComparer.OrdinalIgnoreCase);

    public FileSettings Read()
    {
        var reader = new Utf8JsonReader(file.Bytes[file.Start..], new JsonReaderOptions
        {
            CommentHandling = JsonCommentHandling.Skip,
            AllowTrailingCommas = true,
        });
        reader.Read();
        var settings = new List<Setting>();
        if (reader.TokenType == JsonTokenType.StartObject)
        {
            ReadGroup(ref reader, "", OptionScope.Server, settings);
        }
        else
        {
            AddError(file.At(reader.TokenStartIndex), "The configuration must be an object: write { ... }.");
            reader.Skip();
        }

        // Throws if anything follows the object.
        reader.Read();
        return new FileSettings(new SettingSet(settings), _hosts);
    }

    private void ReadGroup(ref Utf8JsonReader reader, string prefix, OptionScope scope, List<Setting> settings)
    {
        var keys = new DuplicateKeyCheck(file, errors);
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            FilePosition position = file.At(reader.TokenStartIndex);
            string? key = keys.Enter(ref reader);
            reader.Read();
            if (key is null)
            {
                reader.Skip();
            }
            else
            {
                ReadMember(ref reader, prefix + key, position, scope, settings);
            }
        }
    }

    private void ReadMember(ref Utf8JsonReader reader, string path, FilePosition position, OptionScope scope, List<Setting> settings)
    {
        ServerOption? option = OptionTable.All.FirstOrDefault(option => option.Path == path);
        bool isGroup = OptionTable.All.Any(option => option.Path.StartsWith($"{path}.", StringComparison.Ordinal));
        if (scope == OptionScope.Site && (isGroup || option is { Scope: OptionScope.Server }))
        {
            AddError(position, $"'{path}' applies to the whole server: move it out of 'hosts'.");
            reader.Skip();
        }
        else if (option?.Key == ListenRows.Host)
        {
            ReadHosts(ref reader, option, position, settings);
        }
        else if (option is not null)
        {
            if (_values.Read(ref reader, option) is { } values)
            {
                settings.Add(new Setting(option, new SettingOrigin(SettingSource.File, position), values));
            }
        }
        else if (isGroup)
        {
            ReadNamedGroup(ref reader, path, position, scope, settings);
        }
        else
        {
            if (path != SchemaKey || scope != OptionScope.Server)
            {
                AddError(position, $"'{path}' is not an option.{SuggestionFor(path, scope)}");
            }
            else if (reader.TokenType != JsonTokenType.String)
            {
                AddError(position, $"'{SchemaKey}' must be a string, such as \"./millrace.schema.json\".");
            }

            reader.Skip();
        }
    }

    private void ReadNamedGroup(ref Utf8JsonReader reader, string path, FilePosition position, OptionScope scope, List<Setting> settings)
    {
        if (reader.TokenType == JsonTokenType.StartObject)
        {
            ReadGroup(ref reader, $"{path}.", scope, settings);
        }
        else
        {
            AddError(position, $"'{path}' is a group of options: write {{ ... }}.");
            reader.Skip();
        }
    }

    /// <summary>Each value is a folder, or an object with the host's own options.</summary>
    private void ReadHosts(ref Utf8JsonReader reader, ServerOption option, FilePosition position, List<Setting> settings)
    {
        if (reader.TokenType != JsonTokenType.StartObject)
        {
            AddError(position, $"'{option.Path}' must be an object: write {{ \"example.org\": \"./folder\" }}.");
            reader.Skip();
            return;
        }

        var names = new DuplicateKeyCheck(file, errors);
        var values = new List<SettingValue>();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            var origin = new SettingOrigin(SettingSource.File, file.At(reader.TokenStartIndex));
            string? name = names.Enter(ref reader);
            reader.Read();
            if (name is null)
            {
                reader.Skip();
            }
            else if (ReadRoot(ref reader, name, origin) is string root)
            {
                values.Add(new SettingValue($"{name}={root}", origin));
            }
        }

        settings.Add(new Setting(option, new SettingOrigin(SettingSource.File, position), values));
    }

    private string? ReadRoot(ref Utf8JsonReader reader, string name, SettingOrigin origin)
    {
        var own = new List<Setting>();
        string? root = null;
        if (reader.TokenType == JsonTokenType.StartObject)
        {
            var keys = new DuplicateKeyCheck(file, errors);
            while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
            {
                FilePosition position = file.At(reader.TokenStartIndex);
                string? key = keys.Enter(ref reader);
                reader.Read();
                if (key == RootKey)
                {
                    root = ReadFolder(ref reader);
                }
                else if (key is null)
                {
                    reader.Skip();
                }
                else
                {
                    ReadMember(ref reader, key, position, OptionScope.Site, own);
                }
            }

            if (root is null && !keys.Has(RootKey))
            {
                errors.Add(new OptionError(origin, $"The host '{name}' has no root: write \"{RootKey}\": \"./folder\"."));
            }
        }
        else
        {
            root = ReadFolder(ref reader);
        }

        // The name as in the row, by which the settings are looked up. The row reports an invalid name.
        _hosts.TryAdd(HostedSite.TryReadName(name, out string? read, out _) ? read : name, new SettingSet(own));
        return root;
    }

    private string? ReadFolder(ref Utf8JsonReader reader) =>
        _values.Read(ref reader, OptionTable.Get(RootKey)) is [{ } value] ? value.Text : null;

    private static string SuggestionFor(string path, OptionScope scope)
    {
        int dot = path.LastIndexOf('.') + 1;
        string prefix = path[..dot];
        string key = path[dot..];
        string? sibling = SpellingSuggestion.Nearest(key, KeysAt(prefix, scope));
        string? guess = sibling is not null ? prefix + sibling : NearestElsewhere(key, scope);
        return guess is null ? " 'millrace schema' prints all options." : $" Did you mean '{guess}'?";
    }

    /// <summary>The nearest option of another group, or by the name of its flag.</summary>
    private static string? NearestElsewhere(string key, OptionScope scope)
    {
        ServerOption[] rows = [.. OptionTable.All.Where(option => IsIn(option, scope))];
        string? near = SpellingSuggestion.Nearest(key, rows.SelectMany(static option => (string[])[option.Key, KeyOf(option)]));
        return near is null ? null : rows.First(option => option.Key == near || KeyOf(option) == near).Path;
    }

    private static string KeyOf(ServerOption option) => option.Path[(option.Path.LastIndexOf('.') + 1)..];

    private static bool IsIn(ServerOption option, OptionScope scope) =>
        scope == OptionScope.Server || option.Scope == scope || option.Key == RootKey;

    /// <summary>The keys of a group: options and nested groups.</summary>
    private static IEnumerable<string> KeysAt(string prefix, OptionScope scope) => OptionTable.All
        .Where(option => IsIn(option, scope) && option.Path.StartsWith(prefix, StringComparison.Ordinal))
        .Select(option => option.Path[prefix.Length..].Split('.')[0])
        .Distinct();

    private void AddError(FilePosition position, string text) =>
        errors.Add(new OptionError(new SettingOrigin(SettingSource.File, position), text));
}
