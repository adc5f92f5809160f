using System.Reflection;

namespace Millrace.PublicDocs;

/// <summary>
/// What others can use of an assembly, by keys: a kind, a type, a member and how many parameters it has. Overloads of as many share one.
/// </summary>
internal static class VisibleMembers
{
    private const BindingFlags Declared =
        BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    public static HashSet<string> Of(Assembly assembly) =>
        [.. assembly.GetExportedTypes().SelectMany(static type => type.GetMembers(Declared).Select(KeyOf).Append($"T:{NameOf(type)}")).OfType<string>()];

    /// <summary>The key of an id as the compiler writes it: M:Namespace.Type`1.Method``1(System.Int32,System.String).</summary>
    public static string KeyOf(string id)
    {
        string name = id.Split('~')[0];
        int open = name.IndexOf('(', StringComparison.Ordinal);
        return open < 0 ? $"{name}{(name[0] is 'M' or 'P' ? "/0" : "")}" : $"{name[..open]}/{CountParameters(name[(open + 1)..^1])}";
    }

    private static string? KeyOf(MemberInfo member)
    {
        string name = $"{NameOf(member.DeclaringType!)}.{member.Name.Replace('.', '#')}";
        return member switch
        {
            MethodBase method when IsVisible(method) =>
                $"M:{name}{(method.IsGenericMethod ? $"``{method.GetGenericArguments().Length}" : "")}/{method.GetParameters().Length}",
            PropertyInfo property when property.GetAccessors(nonPublic: true).Any(IsVisible) => $"P:{name}/{property.GetIndexParameters().Length}",
            EventInfo happening when IsVisible(happening.AddMethod!) => $"E:{name}",
            FieldInfo { IsPublic: true } or FieldInfo { IsFamily: true } or FieldInfo { IsFamilyOrAssembly: true } => $"F:{name}",
            _ => null,
        };
    }

    private static bool IsVisible(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static string NameOf(Type type) => type.FullName!.Replace('+', '.');

    /// <summary>Of commas, those between parameters: not those within the arguments of generic types, nor the dimensions of arrays.</summary>
    private static int CountParameters(string list)
    {
        int depth = 0;
        int count = 1;
        foreach (char character in list)
        {
            depth += character is '{' or '[' or '(' ? 1 : character is '}' or ']' or ')' ? -1 : 0;
            count += character == ',' && depth == 0 ? 1 : 0;
        }

        return count;
    }
}
