using System.Text.Json;

namespace Millrace.Server.Configuration;

/// <summary>
/// Reads the settings of a configuration file; a value becomes the texts that a flag would have. Continues after an error, so that all
/// errors are reported at once.
/// </summary>
internal sealed class ConfigurationReader(FileText file, ICollection<OptionError> errors)
{
    private const string SchemaKey = "$schema";
    private const string RootKey = "root";
    private const string HostsKey = "hosts";

    private readonly string _folder = Path.GetDirectoryName(file.Path) ?? "";
    private readonly Dictionary<string, SettingSet> _hosts = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Throws <see cref="JsonException"/> if the text is not JSON.</summary>
    public FileSettings Read()
    {
        FileValue configuration = file.Parse(errors);
        var settings = new List<Setting>();
        if (configuration.Type == JsonTokenType.StartObject)
        {
            ReadGroup(configuration, "", OptionScope.Server, settings);
        }
        else
        {
            AddError(configuration.Offset, "The configuration must be an object: write { ... }.");
        }

        return new FileSettings(new SettingSet(settings), _hosts);
    }

    private void ReadGroup(FileValue group, string prefix, OptionScope scope, List<Setting> settings)
    {
        foreach ((string key, FileMember member) in group.Members)
        {
            ReadMember(prefix + key, member, scope, settings);
        }
    }

    private void ReadMember(string path, FileMember member, OptionScope scope, List<Setting> settings)
    {
        ServerOption? option = OptionTable.All.FirstOrDefault(option => option.Path == path);
        bool isGroup = OptionTable.All.Any(option => option.Path.StartsWith($"{path}.", StringComparison.Ordinal));
        if (scope == OptionScope.Site && (isGroup || option is { Scope: OptionScope.Server }))
        {
            AddError(member.Offset, $"'{path}' applies to the whole server: move it out of '{HostsKey}'.");
        }
        else if (option is not null)
        {
            if ((path == HostsKey ? ReadHosts(member) : Read(member.Value, option)) is { } values)
            {
                settings.Add(new Setting(option, Origin(member.Offset), values));
            }
        }
        else if (isGroup && member.Value.Type == JsonTokenType.StartObject)
        {
            ReadGroup(member.Value, $"{path}.", scope, settings);
        }
        else if (isGroup)
        {
            AddError(member.Offset, $"'{path}' is a group of options: write {{ ... }}.");
        }
        else if (scope == OptionScope.Site
            && OptionTable.All.FirstOrDefault(row => row.Scope == OptionScope.Server && NamesOf(row).Contains(path)) is { } ofServer)
        {
            AddError(member.Offset, $"'{path}' applies to the whole server: write '{ofServer.Path}' outside of '{HostsKey}'.");
        }
        else if (path != SchemaKey || scope != OptionScope.Server)
        {
            AddError(member.Offset, $"'{path}' is not an option.{SuggestionFor(path, scope)}");
        }
        else if (member.Value.Type != JsonTokenType.String)
        {
            AddError(member.Offset, $"'{SchemaKey}' must be a string, such as \"./millrace.schema.json\".");
        }
    }

    /// <summary>Each value is a folder, or an object with the host's own options.</summary>
    private List<SettingValue>? ReadHosts(FileMember hosts)
    {
        if (hosts.Value.Type != JsonTokenType.StartObject)
        {
            AddError(hosts.Offset, $"'{HostsKey}' must be an object: write {{ \"example.org\": \"./folder\" }}.");
            return null;
        }

        var values = new List<SettingValue>();
        foreach ((string name, FileMember host) in hosts.Value.Members)
        {
            FileValue? root = host.Value;
            var own = new List<Setting>();
            if (root.Type == JsonTokenType.StartObject)
            {
                root = root.Members.GetValueOrDefault(RootKey)?.Value;
                foreach ((string key, FileMember member) in host.Value.Members.Where(static member => member.Key != RootKey))
                {
                    ReadMember(key, member, OptionScope.Site, own);
                }
            }

            if (root is null)
            {
                AddError(host.Offset, $"The host '{name}' has no root: write \"{RootKey}\": \"./folder\".");
            }
            else if (Read(root, OptionTable.Get(RootKey)) is [{ } folder])
            {
                values.Add(new SettingValue($"{name}={folder.Text}", Origin(host.Offset)));
            }

            // The name as in the row, by which the settings are looked up. The row reports an invalid name.
            _hosts.TryAdd(HostedSite.TryReadName(name, out string? read, out _) ? read : name, new SettingSet(own));
        }

        return values;
    }

    /// <summary>Null, with an error, for a value of the wrong type.</summary>
    private List<SettingValue>? Read(FileValue value, ServerOption option) => value.Type switch
    {
        JsonTokenType.False when option.Kind != OptionValueKind.Switch && option.BareValue is not null => [],
        JsonTokenType.StartArray when option.Kind == OptionValueKind.List => ReadList(value, option),
        JsonTokenType.StartArray when option.Occurrence == OptionOccurrence.Repeatable =>
            [.. value.Items.SelectMany(item => ReadOne(item, option) ?? [])],
        _ => ReadOne(value, option),
    };

    private List<SettingValue>? ReadOne(FileValue value, ServerOption option)
    {
        if (value.Type == JsonTokenType.StartObject && option.Parts.Count > 0)
        {
            return option.IsPair ? ReadPairs(value, option) : ReadParts(value, option);
        }

        string? text = value.Type switch
        {
            JsonTokenType.True when option.Kind == OptionValueKind.Switch => "on",
            JsonTokenType.False when option.Kind == OptionValueKind.Switch => "off",
            JsonTokenType.True => option.BareValue,
            JsonTokenType.Number when IsNumber(option.Kind) || option.Kind == OptionValueKind.Address => value.Text,
            JsonTokenType.String when TakesText(option, value.Text) => Resolve(option, value.Text),
            _ => null,
        };
        if (text is null)
        {
            Refuse(value, option);
            return null;
        }

        return [new SettingValue(text, Origin(value.Offset))];
    }

    /// <summary>The values that a flag separates by commas.</summary>
    private List<SettingValue> ReadList(FileValue list, ServerOption option)
    {
        var texts = new List<string>();
        foreach (FileValue item in list.Items)
        {
            if (item.Type != JsonTokenType.String)
            {
                Refuse(item, option);
            }
            else if (item.Text.Contains(',', StringComparison.Ordinal))
            {
                AddError(item.Offset, $"{option.Path}: '{item.Text}' contains a comma, which separates values.");
            }
            else
            {
                texts.Add(item.Text);
            }
        }

        return texts.Count == 0 ? [] : [new SettingValue(string.Join(',', texts), Origin(list.Offset))];
    }

    /// <summary>Reads an object as many rules, each a key and a value.</summary>
    private List<SettingValue> ReadPairs(FileValue pairs, ServerOption option)
    {
        var values = new List<SettingValue>();
        (RulePart name, RulePart value) = (option.Parts[0], option.Parts[1]);
        foreach ((string key, FileMember member) in pairs.Members)
        {
            if (ReadPart(member.Value, option, value) is string text && IsWhole(option, name, key, member.Offset))
            {
                values.Add(new SettingValue(Resolve(option, $"{key}{name.After}{text}"), Origin(member.Offset)));
            }
        }

        return values;
    }

    private List<SettingValue>? ReadParts(FileValue rule, ServerOption option)
    {
        int errorsBefore = errors.Count;
        foreach ((string key, FileMember member) in rule.Members)
        {
            if (!option.Parts.Any(part => part.Name == key))
            {
                IEnumerable<string> known = option.Parts.Select(static part => part.Name);
                string hint = SpellingSuggestion.Nearest(key, known) is { } near
                    ? $"Did you mean '{near}'?"
                    : $"Known keys: {string.Join(", ", known)}.";
                AddError(member.Offset, $"{option.Path}: '{key}' is not a known key. {hint}");
            }
        }

        string text = "";
        foreach (RulePart part in option.Parts)
        {
            if (rule.Members.TryGetValue(part.Name, out FileMember? member))
            {
                string? value = ReadPart(member.Value, option, part);
                _ = value is null || IsWhole(option, part, value, member.Offset);
                text += part.Before + value + part.After;
            }
            else if (!part.IsOptional)
            {
                AddError(rule.Offset, $"{option.Path}: '{part.Name}' is missing.");
            }
        }

        return errors.Count == errorsBefore ? [new SettingValue(Resolve(option, text), Origin(rule.Offset))] : null;
    }

    /// <summary>A rule of several parts may have a whole number (a status); the value of a pair never is one.</summary>
    private string? ReadPart(FileValue value, ServerOption option, RulePart part)
    {
        if (value.Type == JsonTokenType.String || (value.IsWholeNumber && !option.IsPair))
        {
            return value.Text;
        }

        AddError(value.Offset, $"{option.Path}: '{part.Name}' must be a string, not {value.TypeName}.");
        return null;
    }

    private bool IsWhole(ServerOption option, RulePart part, string text, long offset)
    {
        bool isWhole = part.End.Length == 0 || !text.Contains(part.End, StringComparison.Ordinal);
        if (!isWhole)
        {
            AddError(offset, $"{option.Path}: '{part.Name}' cannot contain '{part.End}'.");
        }

        return isWhole;
    }

    /// <summary>Resolves paths against the file's own folder, wherever the server is started.</summary>
    private string Resolve(ServerOption option, string text)
    {
        int at = option.PathIn(text);
        return at < 0 || at == text.Length ? text : text[..at] + Path.Combine(_folder, text[at..]);
    }

    private static bool IsNumber(OptionValueKind kind) => kind is OptionValueKind.Count or OptionValueKind.Seconds or OptionValueKind.Size;

    private static bool TakesText(ServerOption option, string text) => option.Kind switch
    {
        OptionValueKind.Switch => false,
        OptionValueKind.Count or OptionValueKind.Seconds => option.Choices.Contains(text),
        _ => true,
    };

    private static string SuggestionFor(string path, OptionScope scope)
    {
        ServerOption[] rows =
            [.. OptionTable.All.Where(option => scope == OptionScope.Server || option.Scope == scope || option.Path == RootKey)];
        int dot = path.LastIndexOf('.') + 1;
        (string prefix, string key) = (path[..dot], path[dot..]);

        if (key is "port" or "address" && rows.Any(option => option.Path == $"{prefix}listen"))
        {
            return $" Did you mean '{prefix}listen'?";
        }

        // Keys of the same group, then options of other groups by either name.
        string? sibling = SpellingSuggestion.Nearest(key, rows
            .Where(option => option.Path.StartsWith(prefix, StringComparison.Ordinal))
            .Select(option => option.Path[dot..].Split('.')[0]));
        string? near = sibling ?? SpellingSuggestion.Nearest(key, rows.SelectMany(NamesOf));
        string? guess = sibling is not null ? prefix + sibling : rows.FirstOrDefault(option => NamesOf(option).Contains(near))?.Path;
        return guess is null ? " 'millrace schema' prints all options." : $" Did you mean '{guess}'?";
    }

    private static string[] NamesOf(ServerOption option) => [option.Key, option.Path[(option.Path.LastIndexOf('.') + 1)..]];

    private void Refuse(FileValue value, ServerOption option) =>
        AddError(value.Offset, $"{option.Path} must be {option.JsonType}, not {value.TypeName}.");

    private SettingOrigin Origin(long offset) => new(SettingSource.File, file.At(offset));

    private void AddError(long offset, string text) => errors.Add(new OptionError(Origin(offset), text));
}

internal sealed record FileSettings(SettingSet Shared, IReadOnlyDictionary<string, SettingSet> Hosts)
{
    public static FileSettings Empty { get; } = new(SettingSet.Empty, new Dictionary<string, SettingSet>());
}
