namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields of a response while rules edit them. Names are compared in any case; the order is that of first appearance.
/// </summary>
internal sealed class FieldList
{
    private readonly List<Field> _fields = [];

    public FieldSet ToSet() => _fields.Count == 0 ? FieldSet.Empty : new FieldSet([.. _fields]);

    public bool Has(string name) => IndexOf(name) >= 0;

    public void Apply(FieldEdit edit)
    {
        int index = IndexOf(edit.Field.Name);
        if (index < 0 || edit.Kind == FieldEditKind.Add)
        {
            // Only cookies of many blocks can exceed the limit: there are fewer distinct names.
            if (edit.Kind != FieldEditKind.Remove && _fields.Count < RuleLimits.FieldsMax + SecurityPreset.Fields.Length)
            {
                _fields.Add(edit.Field);
            }

            return;
        }

        switch (edit.Kind)
        {
            case FieldEditKind.Join when _fields[index].Value.Length + edit.Field.Value.Length >= FieldValidation.ValueCharactersMax:
                // Hundreds of blocks match one path: the present value stays.
                break;
            case FieldEditKind.Join:
                _fields[index] = new Field(_fields[index].Name, $"{_fields[index].Value}, {edit.Field.Value}");
                break;
            case FieldEditKind.Replace:
                _fields[index] = edit.Field;
                _ = _fields.RemoveAll(field => field != edit.Field && field.Is(edit.Field.Name));
                break;
            default:
                _ = _fields.RemoveAll(field => field.Is(edit.Field.Name));
                break;
        }
    }

    private int IndexOf(string name) => _fields.FindIndex(field => field.Is(name));
}
