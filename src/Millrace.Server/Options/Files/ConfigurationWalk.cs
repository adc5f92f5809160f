using System.Text.Json;
using Millrace.Server.Options.Rows;
using Millrace.Server.Options.Settings;

namespace Millrace.Server.Options.Files;

/// <summary>
/// One walk over a configuration: groups, options, hosts. It goes on behind what is wrong, so that all of it is told at once. Throws
/// <see cref="JsonException"/> where the text is no JSON.
/// </summary>
internal sealed class ConfigurationWalk(FileText file, ICollection<Complaint> complaints)
{
    private const string SchemaKey = "$schema";
    private const string RootKey = "root";

    private readonly ValueReader _values = new(file, complaints);
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
            Complain(file.At(reader.TokenStartIndex), "A configuration is an object: write { ... }.");
            reader.Skip();
        }

        // Whatever stands behind it is told.
        reader.Read();
        return new FileSettings(new SettingSet(settings), _hosts);
    }

    private void ReadGroup(ref Utf8JsonReader reader, string prefix, OptionScope scope, List<Setting> settings)
    {
        var keys = new KeyGuard(file, complaints);
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
            Complain(position, $"'{path}' is about the server, not about one of its hosts: write it outside of hosts.");
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
                settings.Add(new Setting(option, new Origin(SettingSource.File, position), values));
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
                Complain(position, $"'{path}' is not an option.{SuggestionFor(path, scope)}");
            }
            else if (reader.TokenType != JsonTokenType.String)
            {
                Complain(position, $"'{SchemaKey}' names a schema: write \"./millrace.schema.json\", say.");
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
            Complain(position, $"'{path}' is a group of options: write {{ ... }}.");
            reader.Skip();
        }
    }

    /// <summary>The folder alone, or an object with what is different for this host.</summary>
    private void ReadHosts(ref Utf8JsonReader reader, ServerOption option, FilePosition position, List<Setting> settings)
    {
        if (reader.TokenType != JsonTokenType.StartObject)
        {
            Complain(position, $"'{option.Path}' is an object: write {{ \"example.org\": \"./folder\" }}.");
            reader.Skip();
            return;
        }

        var names = new KeyGuard(file, complaints);
        var values = new List<SettingValue>();
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            var origin = new Origin(SettingSource.File, file.At(reader.TokenStartIndex));
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

        settings.Add(new Setting(option, new Origin(SettingSource.File, position), values));
    }

    private string? ReadRoot(ref Utf8JsonReader reader, string name, Origin origin)
    {
        var own = new List<Setting>();
        string? root = null;
        if (reader.TokenType == JsonTokenType.StartObject)
        {
            var keys = new KeyGuard(file, complaints);
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
                complaints.Add(new Complaint(origin, $"The host '{name}' has no root: write \"{RootKey}\": \"./folder\"."));
            }
        }
        else
        {
            root = ReadFolder(ref reader);
        }

        _hosts.TryAdd(name, new SettingSet(own));
        return root;
    }

    private string? ReadFolder(ref Utf8JsonReader reader) =>
        _values.Read(ref reader, OptionTable.Get(RootKey)) is [{ } value] ? value.Text : null;

    private static string SuggestionFor(string path, OptionScope scope)
    {
        int dot = path.LastIndexOf('.') + 1;
        string prefix = path[..dot];
        string key = path[dot..];
        string? sibling = Spelling.Nearest(key, KeysAt(prefix, scope));
        string? guess = sibling is not null ? prefix + sibling : ElsewhereNear(key, scope);
        return guess is null ? " 'millrace schema' prints all there are." : $" Did you mean '{guess}'?";
    }

    /// <summary>It may stand in another group, or be called as the flag is.</summary>
    private static string? ElsewhereNear(string key, OptionScope scope)
    {
        ServerOption[] rows = [.. OptionTable.All.Where(option => IsIn(option, scope))];
        string? near = Spelling.Nearest(key, rows.SelectMany(static option => (string[])[option.Key, KeyOf(option)]));
        return near is null ? null : rows.First(option => option.Key == near || KeyOf(option) == near).Path;
    }

    private static string KeyOf(ServerOption option) => option.Path[(option.Path.LastIndexOf('.') + 1)..];

    private static bool IsIn(ServerOption option, OptionScope scope) =>
        scope == OptionScope.Server || option.Scope == scope || option.Key == RootKey;

    /// <summary>The keys of a group: options and groups within.</summary>
    private static IEnumerable<string> KeysAt(string prefix, OptionScope scope) => OptionTable.All
        .Where(option => IsIn(option, scope) && option.Path.StartsWith(prefix, StringComparison.Ordinal))
        .Select(option => option.Path[prefix.Length..].Split('.')[0])
        .Distinct();

    private void Complain(FilePosition position, string text) =>
        complaints.Add(new Complaint(new Origin(SettingSource.File, position), text));
}
