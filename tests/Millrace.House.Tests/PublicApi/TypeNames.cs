using System.Reflection;

namespace Millrace.House.Tests.PublicApi;

/// <summary>Types as C# writes them, with their nullable annotations where those are known.</summary>
internal static class TypeNames
{
    private static readonly Dictionary<Type, string> Keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(byte)] = "byte",
        [typeof(sbyte)] = "sbyte",
        [typeof(short)] = "short",
        [typeof(ushort)] = "ushort",
        [typeof(int)] = "int",
        [typeof(uint)] = "uint",
        [typeof(long)] = "long",
        [typeof(ulong)] = "ulong",
        [typeof(nint)] = "nint",
        [typeof(nuint)] = "nuint",
        [typeof(char)] = "char",
        [typeof(float)] = "float",
        [typeof(double)] = "double",
        [typeof(decimal)] = "decimal",
    };

    public static string Of(Type type, NullabilityInfo? nullability = null)
    {
        if (type.IsByRef)
        {
            return Of(type.GetElementType()!, nullability);
        }

        if (Nullable.GetUnderlyingType(type) is { } underlying)
        {
            return Of(underlying) + "?";
        }

        string name = type.IsPointer ? Of(type.GetElementType()!) + "*"
            : type.IsFunctionPointer ? "delegate*"
            : type.IsArray ? $"{Of(type.GetElementType()!, nullability?.ElementType)}[{new string(',', type.GetArrayRank() - 1)}]"
            : Keywords.TryGetValue(type, out string? keyword) ? keyword
            : type.IsGenericParameter ? type.Name
            : Named(type, nullability);
        return !type.IsValueType && nullability?.ReadState == NullabilityState.Nullable ? name + "?" : name;
    }

    /// <summary>The name of a definition, with its type parameters.</summary>
    public static string OfDefinition(Type type) => Named(type, null);

    private static string Named(Type type, NullabilityInfo? nullability)
    {
        string name = type.Name.Split('`')[0];
        int inherited = type.DeclaringType?.GetGenericArguments().Length ?? 0;
        string[] own =
        [
            .. from argument in type.GetGenericArguments().Index().Skip(inherited)
               select Of(argument.Item, nullability?.GenericTypeArguments.ElementAtOrDefault(argument.Index)),
        ];
        string prefix = type.DeclaringType is { } outer ? OfDefinition(outer) : type.Namespace ?? "global";
        // Only our own names are written in full: the framework's are known by their last word.
        bool isOurs = prefix.StartsWith("Millrace", StringComparison.Ordinal) || type.DeclaringType is not null;
        return $"{(isOurs ? prefix + "." : "")}{name}{(own.Length > 0 ? $"<{string.Join(", ", own)}>" : "")}";
    }
}
